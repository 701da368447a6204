// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expand makes of a policy the Snapshots of one run: one for each of its sources, of the claims that a source
// selects, and of its repositories. Whoever starts a run and whoever judges a policy ask the same function, so that they
// cannot disagree about what a policy covers.
package expand

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Most is how many Snapshots one run makes at most. A selector that matches more was not meant.
const Most = 400

// Refusal says why a policy stands for no run as things are. Nothing of such a run is started.
type Refusal struct {
	// Reason is one of the API's, for a condition or an event.
	Reason  string
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Run gives the Snapshots of one run. model is what they have in common; its name is that of a single one, and the
// beginning of the names of several. claims are those of the policy's namespace; they are only looked at where a source
// selects. The same arguments make the same names, so that a run that was cut short can be gone on with.
func Run(p *kopiurv1.SnapshotPolicy, model *kopiurv1.Snapshot, claims []corev1.PersistentVolumeClaim) ([]*kopiurv1.Snapshot, *Refusal) {
	members, refusal := Members(p, claims)
	if refusal != nil {
		return nil, refusal
	}
	repositories := p.RepositoryRefs()
	single := len(p.Spec.Sources) == 1 && p.Spec.Sources[0].PVCSelector == nil
	var out []*kopiurv1.Snapshot
	taken, grouped := map[string]bool{}, map[string]bool{}
	together := Together(p, members)
	for _, m := range members {
		for _, repo := range repositories {
			s := model.DeepCopy()
			name, of := []string{model.Name}, []string{model.Name, p.Name}
			if !single {
				s.Spec.Source = m.source(p)
				name = append(name, m.name())
			}
			if len(repositories) > 1 {
				s.Spec.Repository = new(repo)
				at := []string{"repo", repo.Name, short(repo, p.Namespace)}
				name, of = append(name, at...), append(of, at...)
			}
			if len(together) > 0 && m.Claim != "" {
				join(s, kopiurv1.LabelValue(strings.Join(of, "-")), together, grouped)
			}
			if len(name) > 1 {
				s.Name = unique(taken, strings.Join(name, "-"))
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// join makes a Snapshot one of those whose claims are cut together. The first of them makes the cut. The name of their group
// has the policy's in it: runs of two policies may have the same name.
func join(s *kopiurv1.Snapshot, group string, claims []string, made map[string]bool) {
	s.Spec.Source.Group = &kopiurv1.SnapshotGroup{Namespace: s.Namespace, VolumeGroupSnapshotName: group}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[kopiurv1.LabelGroup] = group
	if made[group] {
		return
	}
	made[group] = true
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[kopiurv1.AnnotationGroupClaims] = strings.Join(claims, ",")
}

// short tells two repositories of one name apart, wherever the policy lies.
func short(r kopiurv1.RepositoryRef, own string) string {
	if r.Namespace == own {
		r.Namespace = ""
	}
	sum := sha256.Sum256([]byte(r.String()))
	return hex.EncodeToString(sum[:4])
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
