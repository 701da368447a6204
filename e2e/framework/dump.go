// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// dump writes all that a person would look at after a failure: to $ARTIFACTS where it is set, else to the test's log.
func (e *Env) dump(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	var b strings.Builder
	for _, list := range []client.ObjectList{
		&kopiurv1.RepositoryList{}, &kopiurv1.SnapshotPolicyList{}, &kopiurv1.SnapshotList{}, &kopiurv1.RestoreList{},
		&corev1.PersistentVolumeClaimList{}, &batchv1.JobList{}, &corev1.EventList{},
	} {
		if err := e.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			b.WriteString("# " + err.Error() + "\n")
			continue
		}
		text, err := yaml.Marshal(list)
		if err != nil {
			continue
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	var pods corev1.PodList
	if err := e.Client.List(ctx, &pods, client.InNamespace(namespace)); err == nil {
		for i := range pods.Items {
			p := &pods.Items[i]
			b.WriteString("--- pod " + p.Name + " " + string(p.Status.Phase) + "\n")
			if text, err := yaml.Marshal(p.Status); err == nil {
				b.Write(text)
			}
			for _, c := range p.Spec.Containers {
				if logs, err := e.Logs(ctx, namespace, p.Name, c.Name); err == nil {
					b.WriteString("# log of " + c.Name + "\n" + logs)
				}
			}
		}
	}
	if dir := os.Getenv("ARTIFACTS"); dir != "" {
		path := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-"+namespace+".txt")
		if err := os.MkdirAll(dir, 0o750); err == nil {
			if err := os.WriteFile(path, []byte(b.String()), 0o600); err == nil {
				t.Logf("the objects of namespace %s are in %s", namespace, path)
				return
			}
		}
	}
	t.Log(b.String())
}
