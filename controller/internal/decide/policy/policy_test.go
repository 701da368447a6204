// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/identity"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var (
	nas     = kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"}
	offsite = kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindRepository, Namespace: "apps"}
)

func web(change ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "apps"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestCollides(t *testing.T) {
	t.Parallel()
	twin := func(change ...func(*kopiurv1.SnapshotPolicy)) kopiurv1.SnapshotPolicy {
		p := web(func(p *kopiurv1.SnapshotPolicy) {
			p.Name = "twin"
			p.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "web"}
		})
		for _, f := range change {
			f(p)
		}
		return *p
	}
	byTeam := &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}
	for name, tc := range map[string]struct {
		defaults *kopiurv1.IdentityDefaults
		other    kopiurv1.SnapshotPolicy
		want     string
	}{
		"the same identity and path": {nil, twin(), "SnapshotPolicy apps/twin files snapshots in the same repository under the same identity web@apps:/pvc/data"},
		"from another namespace": {nil, twin(func(p *kopiurv1.SnapshotPolicy) {
			p.Namespace, p.Spec.Repository.Namespace, p.Spec.Identity.Hostname = "else", "apps", "apps"
		}), "else/twin"},
		"one of several repositories": {nil, twin(func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Repository, p.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "offsite"}, {Name: "nas", Namespace: "apps"}}
		}), "apps/twin"},
		"labels that make the same username": {byTeam, twin(func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Identity, p.Labels = nil, map[string]string{"team": "blue"}
		}), "under the same identity blue@apps:/pvc/data"},
		"labels that make another": {byTeam, twin(func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Identity, p.Labels = nil, map[string]string{"team": "red"}
		}), ""},
		"one whose labels make none": {byTeam, twin(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Identity = nil }), ""},
		"itself":                     {nil, *web(), ""},
		"another identity":           {nil, twin(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Identity = nil }), ""},
		"another path":               {nil, twin(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources[0].PVC.Name = "more" }), ""},
		"another repository":         {nil, twin(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Repository.Name = "offsite" }), ""},
		"another kind of repository": {nil, twin(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Repository.Kind = kopiurv1.KindClusterRepository }), ""},
		"one that is going away":     {nil, twin(func(p *kopiurv1.SnapshotPolicy) { p.DeletionTimestamp = new(metav1.Now()) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := web(func(p *kopiurv1.SnapshotPolicy) { p.Labels = map[string]string{"team": "blue"} })
			rule, fault := policy.Rule(nas, tc.defaults)
			assert.False(t, fault.Found())
			id, fault := policy.Identity(own, nas, rule, "")
			assert.False(t, fault.Found())
			got := policy.Collides(own, nas, rule, id, []string{"/pvc/data"}, []kopiurv1.SnapshotPolicy{tc.other}, nil)
			if tc.want == "" {
				assert.Equal(t, policy.Fault{}, got)
				return
			}
			assert.Equal(t, kopiurv1.ReasonIdentityCollision, got.Reason)
			assert.Contains(t, got.Message, tc.want)
		})
	}
}

// stored is a Snapshot that succeeded.
func stored(change ...func(*kopiurv1.Snapshot)) kopiurv1.Snapshot {
	s := kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "apps"}}
	s.Status.Phase = kopiurv1.SnapshotSucceeded
	s.Status.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: "k1", Identity: kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}}
	s.Status.Timing = &kopiurv1.Timing{EndTime: "2026-03-05T02:00:00Z"}
	s.Status.Resolved = &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Name: "nas"}, Sources: []kopiurv1.ResolvedSource{{PVC: "apps/data", SourcePath: "/pvc/data"}}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func later(s *kopiurv1.Snapshot) { s.Status.Timing.EndTime = "2026-03-06T02:00:00Z" }

func as(username string) func(*kopiurv1.Snapshot) {
	return func(s *kopiurv1.Snapshot) { s.Status.Snapshot.Identity.Username = username }
}

// H-2: further snapshots are never filed where nothing finds the old ones.
func TestJudgeH2(t *testing.T) {
	t.Parallel()
	byTeam := func(s *policy.Seen) {
		s.Repository.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}
	}
	team := func(name string) func(*kopiurv1.SnapshotPolicy) {
		return func(p *kopiurv1.SnapshotPolicy) { p.Labels = map[string]string{"team": name} }
	}
	gone := func(s *policy.Seen) { s.Repository = nil }
	allow := func(p *kopiurv1.SnapshotPolicy) {
		p.Annotations = map[string]string{kopiurv1.AnnotationAllowIdentityChange: "yes"}
	}
	remembers := func(username string) func(*kopiurv1.SnapshotPolicy) {
		return func(p *kopiurv1.SnapshotPolicy) {
			p.Status.LastSuccessfulSnapshot, p.Status.RepositorySummary = "2026-03-05T02:00:00Z", "Repository apps/nas"
			p.Status.Resolved = &kopiurv1.PolicyResolved{Identity: &kopiurv1.Identity{Username: username, Hostname: "apps"}}
		}
	}
	for name, tc := range map[string]struct {
		policy    *kopiurv1.SnapshotPolicy
		snapshots []kopiurv1.Snapshot
		seen      []func(*policy.Seen)
		reason    string
		says      string
		username  string
	}{
		"a policy without snapshots takes any identity":         {policy: web(), username: "web"},
		"the identity of the newest snapshot may go on":         {policy: web(), snapshots: []kopiurv1.Snapshot{stored(as("old")), stored(later)}, username: "web"},
		"a label that makes another identity stalls the policy": {policy: web(team("blue"), remembers("web")), snapshots: []kopiurv1.Snapshot{stored()}, seen: []func(*policy.Seen){byTeam}, reason: kopiurv1.ReasonIdentityChanged, says: "has snapshots as web@apps", username: "web"},
		"the same with the policy's word":                       {policy: web(team("blue"), allow), snapshots: []kopiurv1.Snapshot{stored()}, seen: []func(*policy.Seen){byTeam}, username: "blue"},
		"the same with the repository's word":                   {policy: web(team("blue")), snapshots: []kopiurv1.Snapshot{stored()}, seen: []func(*policy.Seen){byTeam, func(s *policy.Seen) { s.Repository.AllowIdentityChange = true }}, username: "blue"},
		"a label that is missing is named":                      {policy: web(), seen: []func(*policy.Seen){byTeam}, reason: kopiurv1.ReasonIdentityUnresolved, says: "no such key"},
		"an expression that cannot be read is the repository's fault": {policy: web(), seen: []func(*policy.Seen){func(s *policy.Seen) {
			s.Repository.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{HostnameExpr: "nope("}
		}}, reason: kopiurv1.ReasonIdentityUnresolved, says: "its owner corrects it"},
		"another path of the same claim stalls the policy":              {policy: web(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources[0].SourcePathOverride = "/data" }), snapshots: []kopiurv1.Snapshot{stored()}, reason: kopiurv1.ReasonIdentityChanged, says: "web@apps:/pvc/data"},
		"another claim begins a history of its own":                     {policy: web(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources[0].PVC.Name = "more" }), snapshots: []kopiurv1.Snapshot{stored()}, username: "web"},
		"snapshots in another repository do not matter":                 {policy: web(), snapshots: []kopiurv1.Snapshot{stored(as("old"), func(s *kopiurv1.Snapshot) { s.Status.Resolved.Repository.Name = "offsite" })}, username: "web"},
		"what failed stored nothing":                                    {policy: web(), snapshots: []kopiurv1.Snapshot{stored(as("old"), func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotFailed })}, username: "web"},
		"where the Snapshots are gone, the status remembers":            {policy: web(remembers("old")), reason: kopiurv1.ReasonIdentityChanged, says: "as old@apps", username: "old"},
		"what it remembers of another repository does not matter":       {policy: web(remembers("old"), func(p *kopiurv1.SnapshotPolicy) { p.Status.RepositorySummary = "Repository apps/offsite" }), username: "web"},
		"a repository that does not exist leaves what was known":        {policy: web(remembers("old")), seen: []func(*policy.Seen){gone}, username: "old"},
		"a policy that could never be carried out is stalled all along": {policy: web(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources[0].PVC.Name = "" }), reason: kopiurv1.ReasonInvalidSpec, says: "spec.sources[0].pvc.name", username: "web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := policy.Seen{Ref: nas, Repository: &moverjob.Repository{Ref: nas}, Allowed: true, History: policy.HistoryOf(tc.policy, nas, tc.snapshots)}
			s.Repository.Status.Phase = kopiurv1.RepositoryReady
			for _, f := range tc.seen {
				f(&s)
			}
			v := policy.Judge(tc.policy, nil, []policy.Seen{s}, true)
			assert.Equal(t, tc.reason, v.Stalled.Reason)
			assert.Contains(t, v.Stalled.Message, tc.says)
			if tc.username == "" {
				assert.Nil(t, v.Resolved.Identity)
				return
			}
			assert.Equal(t, tc.username, v.Resolved.Identity.Username)
		})
	}
}

// H-3: one identity per repository, and the bad one is named.
func TestJudgeSeveralH3(t *testing.T) {
	t.Parallel()
	p := web(func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.Repository, p.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
	})
	ready := func(ref kopiurv1.RepositoryRef, d *kopiurv1.IdentityDefaults) policy.Seen {
		r := &moverjob.Repository{Ref: ref, Spec: kopiurv1.RepositorySpec{IdentityDefaults: d}}
		r.Status.Phase = kopiurv1.RepositoryReady
		return policy.Seen{Ref: ref, Repository: r, Allowed: true}
	}
	one, two := ready(nas, nil), ready(offsite, &kopiurv1.IdentityDefaults{Cluster: "east"})
	one.History = policy.History{Count: 2, LastEnd: "2026-03-05T02:00:00Z"}
	two.History = policy.History{Count: 1, LastEnd: "2026-03-06T02:00:00Z"}
	v := policy.Judge(p, nil, []policy.Seen{one, two}, true)
	assert.False(t, v.Stalled.Found() || v.Waiting.Found())
	assert.Nil(t, v.Resolved.Identity)
	assert.Equal(t, []kopiurv1.ResolvedRepository{
		{Repository: nas, Identity: &kopiurv1.Identity{Username: "web", Hostname: "apps"}},
		{Repository: offsite, Identity: &kopiurv1.Identity{Username: "web", Hostname: "apps.east"}},
	}, v.Resolved.Repositories)
	assert.Equal(t, "Repository apps/nas, Repository apps/offsite", v.Summary)
	assert.Equal(t, int64(3), v.Count)
	assert.Equal(t, "2026-03-06T02:00:00Z", v.LastSuccess)

	two.Repository.Spec.IdentityDefaults.HostnameExpr = `labels["zone"]`
	two.Repository.Status.Phase = kopiurv1.RepositoryDegraded
	v = policy.Judge(p, nil, []policy.Seen{one, two}, true)
	assert.Contains(t, v.Stalled.Message, "Repository apps/offsite: ")
	assert.Contains(t, v.Waiting.Message, "Repository apps/offsite is Degraded")
}

// An identity that cannot be made is no identity.
func TestWhatAPolicyWaitsFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		repository kopiurv1.RepositorySpec
		phase      kopiurv1.RepositoryPhase
		allowed    bool
		want       string
	}{
		"nothing":                          {kopiurv1.RepositorySpec{}, kopiurv1.RepositoryReady, true, ""},
		"a repository that is parked":      {kopiurv1.RepositorySpec{}, kopiurv1.RepositoryDegraded, true, kopiurv1.ReasonRepositoryNotReady},
		"one that is suspended":            {kopiurv1.RepositorySpec{Suspend: true}, kopiurv1.RepositoryReady, true, kopiurv1.ReasonRepositoryNotReady},
		"one that takes no snapshots":      {kopiurv1.RepositorySpec{Mode: kopiurv1.ModeReadOnly}, kopiurv1.RepositoryReady, true, kopiurv1.ReasonRepositoryReadOnly},
		"its owner's word":                 {kopiurv1.RepositorySpec{}, kopiurv1.RepositoryReady, false, kopiurv1.ReasonNamespaceNotAllowed},
		"its owner's word before the mode": {kopiurv1.RepositorySpec{Mode: kopiurv1.ModeReadOnly}, kopiurv1.RepositoryReady, false, kopiurv1.ReasonNamespaceNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := &moverjob.Repository{Ref: nas, Spec: tc.repository}
			repo.Status.Phase = tc.phase
			v := policy.Judge(web(), nil, []policy.Seen{{Ref: nas, Repository: repo, Allowed: tc.allowed}}, true)
			assert.Equal(t, tc.want, v.Waiting.Reason)
			assert.Equal(t, tc.want != "", v.Waiting.Message != "")
		})
	}
}

// TestJudgeASelector: what a selector finds is on record, and a policy that could make no run says so before one is tried.
func TestJudgeASelector(t *testing.T) {
	t.Parallel()
	labelled := func(name string, labels map[string]string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps", Labels: labels}}
	}
	yes := map[string]string{"backup": "yes"}
	selects := kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: yes}}}
	many := make([]corev1.PersistentVolumeClaim, 401)
	for i := range many {
		many[i] = labelled(fmt.Sprintf("c%03d", i), yes)
	}
	for name, tc := range map[string]struct {
		sources []kopiurv1.Source
		claims  []corev1.PersistentVolumeClaim
		reason  string
		says    string
		stalled bool
		paths   []string
		idle    int
	}{
		"each claim that it finds":            {sources: []kopiurv1.Source{selects}, claims: []corev1.PersistentVolumeClaim{labelled("b", yes), labelled("a", yes), labelled("c", nil)}, paths: []string{"/pvc/a", "/pvc/b"}},
		"none":                                {sources: []kopiurv1.Source{selects}, claims: []corev1.PersistentVolumeClaim{labelled("c", nil)}, reason: kopiurv1.ReasonNoClaimsSelected, says: "selects no claim", idle: 1},
		"none, beside one that is named":      {sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "c"}}, selects}, paths: []string{"/pvc/c"}, idle: 1},
		"one that is named as well":           {sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "b"}}, selects}, claims: []corev1.PersistentVolumeClaim{labelled("b", yes)}, reason: kopiurv1.ReasonSourcesOverlap, says: "both stand for claim b", stalled: true, paths: []string{"/pvc/b"}},
		"more than a run may have Snapshots":  {sources: []kopiurv1.Source{selects}, claims: many, reason: kopiurv1.ReasonFanoutCapped, says: "stands for 401 Snapshots", stalled: true},
		"as many as a run may have Snapshots": {sources: []kopiurv1.Source{selects}, claims: many[:400]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := &moverjob.Repository{Ref: nas}
			repo.Status.Phase = kopiurv1.RepositoryReady
			v := policy.Judge(web(func(p *kopiurv1.SnapshotPolicy) { p.Spec.Sources = tc.sources }), tc.claims, []policy.Seen{{Ref: nas, Repository: repo, Allowed: true}}, true)
			got := v.Empty
			if tc.stalled {
				got = v.Stalled
			}
			assert.Equal(t, tc.reason, got.Reason)
			assert.Contains(t, got.Message, tc.says)
			assert.Len(t, v.Idle, tc.idle)
			if tc.paths == nil {
				return
			}
			var paths []string
			for _, s := range v.Resolved.Sources {
				paths = append(paths, s.SourcePath)
			}
			assert.Equal(t, tc.paths, paths)
		})
	}
}

// TestTogether: claims are cut together unless it was written that each is cut for itself, and what cannot be is told of.
func TestTogether(t *testing.T) {
	t.Parallel()
	two := func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "more"}})
	}
	by := func(g kopiurv1.GroupBy) func(*kopiurv1.SnapshotPolicy) {
		return func(p *kopiurv1.SnapshotPolicy) { p.Spec.GroupBy = g }
	}
	direct := func(p *kopiurv1.SnapshotPolicy) { p.Spec.CopyMethod = kopiurv1.CopyDirect }
	for name, tc := range map[string]struct {
		policy   *kopiurv1.SnapshotPolicy
		unserved bool
		want     bool
		fault    string
	}{
		"one claim":                     {policy: web(by(kopiurv1.GroupByVolumeGroupSnapshot), direct), unserved: true},
		"two, to be cut together":       {policy: web(two, by(kopiurv1.GroupByVolumeGroupSnapshot)), want: true},
		"two, of which nobody said how": {policy: web(two), want: true},
		"two, one after the other":      {policy: web(two, by(kopiurv1.GroupByNone), direct), unserved: true},
		"two, in a cluster that cannot": {policy: web(two), unserved: true, want: true, fault: "does not serve VolumeGroupSnapshots"},
		"two, without copies":           {policy: web(two, direct), want: true, fault: "copyMethod: Direct cannot do that"},
		"a claim and what is none": {policy: web(func(p *kopiurv1.SnapshotPolicy) {
			p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{NFS: &kopiurv1.NFSVolume{Server: "s", Path: "/p"}})
		})},
	} {
		v := policy.Judge(tc.policy, nil, nil, !tc.unserved)
		assert.Equal(t, tc.want, v.Together, name)
		assert.Equal(t, tc.fault != "", v.Ungroupable.Found(), name)
		assert.Contains(t, v.Ungroupable.Message, tc.fault, name)
		assert.Len(t, v.Resolved.Sources, len(tc.policy.Spec.Sources), "%s: what it stands for is told all the same", name)
	}
}

// Two policies of one identity whose selectors meet, or one that names what the other selects.
func TestCollidesWithASelector(t *testing.T) {
	t.Parallel()
	other := web(func(p *kopiurv1.SnapshotPolicy) {
		p.Name, p.Spec.Identity = "twin", &kopiurv1.PolicyIdentity{Username: "web"}
		p.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}}}}
	})
	claims := []corev1.PersistentVolumeClaim{
		{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"backup": "yes"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "more"}},
	}
	found := policy.Selected{}
	found.SelectedBy(other, claims)
	assert.Equal(t, policy.Selected{"apps/twin": {"/pvc/data"}}, found)
	own := kopiurv1.Identity{Username: "web", Hostname: "apps"}
	rule, _ := policy.Rule(nas, nil)
	got := policy.Collides(web(), nas, rule, own, []string{"/pvc/data"}, []kopiurv1.SnapshotPolicy{*other}, found)
	assert.Equal(t, kopiurv1.ReasonIdentityCollision, got.Reason)
	assert.Contains(t, got.Message, "web@apps:/pvc/data")
	assert.False(t, policy.Collides(web(), nas, rule, own, []string{"/pvc/more"}, []kopiurv1.SnapshotPolicy{*other}, found).Found())
}

func TestNoRuleNoIdentity(t *testing.T) {
	t.Parallel()
	id, fault := policy.Identity(web(), nas, identity.Rule{}, "/pvc/data")
	assert.False(t, fault.Found())
	assert.Equal(t, "web@apps:/pvc/data", id.String())
}
