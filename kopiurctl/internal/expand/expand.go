// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expand makes of a policy the Snapshots of one run: one for each of its sources, of the claims that a source
// selects, and of its repositories.
package expand

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// Most is how many Snapshots one run makes at most. A selector that matches more was not meant.
const Most = 400

// Run gives the Snapshots of one run. model is what they have in common; its name is that of a single one, and the
// beginning of the names of several. claims are those of the namespace.
func Run(p *kopiurv1.SnapshotPolicy, model *kopiurv1.Snapshot, claims []corev1.PersistentVolumeClaim) ([]*kopiurv1.Snapshot, error) {
	sources, err := sourcesOf(p, claims)
	if err != nil {
		return nil, err
	}
	repositories := p.RepositoryRefs()
	if len(repositories) == 0 {
		return nil, cli.Failedf("SnapshotPolicy %s names no repository: set its spec.repository", p.Name)
	}
	if n := len(sources) * len(repositories); n > Most {
		return nil, cli.Failedf("SnapshotPolicy %s stands for %d Snapshots in one run, and at most %d are made: narrow its selector, or make several policies of it", p.Name, n, Most)
	}
	single := len(p.Spec.Sources) == 1 && p.Spec.Sources[0].PVCSelector == nil
	var out []*kopiurv1.Snapshot
	taken := map[string]bool{}
	for _, src := range sources {
		for _, repo := range repositories {
			s := model.DeepCopy()
			name := []string{model.Name}
			if !single {
				s.Spec.Source = &src.spec
				name = append(name, src.name)
			}
			if len(repositories) > 1 {
				s.Spec.Repository = &repo
				name = append(name, repo.Name)
			}
			if len(name) > 1 {
				s.Name = unique(taken, strings.Join(name, "-"))
			}
			out = append(out, s)
		}
	}
	return out, nil
}

type source struct {
	spec kopiurv1.SnapshotSource
	name string
}

func sourcesOf(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) ([]source, error) {
	var out []source
	for i, src := range p.Spec.Sources {
		spec := kopiurv1.SnapshotSource{SourceIndex: int32(i)}
		switch {
		case src.PVC != nil:
			out = append(out, source{spec, src.PVC.Name})
		case src.PVCSelector == nil:
			out = append(out, source{spec, fmt.Sprintf("source%d", i)})
		default:
			found, err := selected(*src.PVCSelector, claims)
			if err != nil {
				return nil, cli.Failedf("source %d of SnapshotPolicy %s: %w", i, p.Name, err)
			}
			if len(found) == 0 {
				return nil, cli.Failedf("source %d of SnapshotPolicy %s selects no claim of namespace %s: label the claims that are meant, or correct the selector", i, p.Name, p.Namespace)
			}
			for _, name := range found {
				of := spec
				of.Target = &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: name, Namespace: p.Namespace}}
				out = append(out, source{of, name})
			}
		}
	}
	return out, nil
}

// selected lists the claims that a selector means: none that Kopiur made, and none on its way out.
func selected(sel kopiurv1.PVCSelector, claims []corev1.PersistentVolumeClaim) ([]string, error) {
	match := labels.Everything()
	if sel.LabelSelector != nil {
		var err error
		if match, err = metav1.LabelSelectorAsSelector(sel.LabelSelector); err != nil {
			return nil, fmt.Errorf("read its labelSelector: %w", err)
		}
	}
	var out []string
	for _, c := range claims {
		if c.Labels[kopiurv1.LabelManagedBy] != kopiurv1.ManagedByValue && c.DeletionTimestamp == nil && match.Matches(labels.Set(c.Labels)) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// unique makes a name that fits everywhere, and that no other of this run has.
func unique(taken map[string]bool, name string) string {
	out := kopiurv1.LabelValue(name)
	for i := 2; taken[out]; i++ {
		out = kopiurv1.LabelValue(fmt.Sprintf("%s-%d", name, i))
	}
	taken[out] = true
	return out
}
