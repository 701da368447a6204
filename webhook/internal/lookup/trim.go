// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// applied is what kubectl keeps of a whole manifest.
const applied = "kubectl.kubernetes.io/last-applied-configuration"

// trim drops what no check reads of any object's metadata. Labels and annotations stay: identities are made of them.
func trim(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
		a := m.GetAnnotations()
		delete(a, applied)
		m.SetAnnotations(a)
	}
	return o, nil
}

// trimNamespace keeps name and labels.
func trimNamespace(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
		m.SetFinalizers(nil)
	}
	return o, nil
}

// trimPolicy drops what says how a policy's data is read and stored. Where it is filed and whether there is a history
// stays. There may be thousands; of the other kinds there are few, and they stay whole.
func trimPolicy(o any) (any, error) {
	if p, ok := o.(*kopiurv1.SnapshotPolicy); ok {
		s := &p.Spec
		s.Hooks, s.Verification, s.Preflight, s.Files, s.Compression = nil, nil, nil, nil, nil
		s.ErrorHandling, s.Upload, s.ExtraArgs, s.Mover, s.Staging = nil, nil, nil, nil, nil
		p.Status = kopiurv1.SnapshotPolicyStatus{LastSuccessfulSnapshot: p.Status.LastSuccessfulSnapshot}
	}
	return trim(o)
}

// repositoriesOf is the index of policies by repository.
func repositoriesOf(o client.Object) []string {
	p, ok := o.(*kopiurv1.SnapshotPolicy)
	if !ok {
		return nil
	}
	var out []string
	for _, ref := range p.RepositoryRefs() {
		out = append(out, ref.String())
	}
	return out
}
