// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// manual is a Snapshot in namespace apps that somebody made by hand and that has nothing wrong.
func manual(changes ...func(*kopiurv1.Snapshot)) *kopiurv1.Snapshot {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "one"}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	for _, change := range changes {
		change(s)
	}
	return s
}

func origin(o string) func(*kopiurv1.Snapshot) {
	return func(s *kopiurv1.Snapshot) {
		s.Labels = map[string]string{kopiurv1.LabelOrigin: o}
		s.Spec.PolicyRef = nil
	}
}

func tagged(m map[string]string) func(*kopiurv1.Snapshot) {
	return func(s *kopiurv1.Snapshot) { s.Spec.Tags = m }
}

// picks the source and, where a name is given, the claim of the Snapshot's own namespace.
func picks(index int32, claim string) func(*kopiurv1.Snapshot) {
	return func(s *kopiurv1.Snapshot) {
		s.Spec.Source = &kopiurv1.SnapshotSource{SourceIndex: index}
		if claim != "" {
			s.Spec.Source.Target = &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: claim, Namespace: "apps"}}
		}
	}
}

func pinnedTo(r kopiurv1.RepositoryRef) func(*kopiurv1.Snapshot) {
	return func(s *kopiurv1.Snapshot) { s.Spec.Repository = &r }
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	eleven := map[string]string{}
	for i := range 11 {
		eleven[fmt.Sprint("tag", i)] = ""
	}
	deletes := func(p kopiurv1.DeletionPolicy) func(*kopiurv1.Snapshot) {
		return func(s *kopiurv1.Snapshot) { s.Spec.DeletionPolicy = p }
	}
	cascades := func(s *kopiurv1.Snapshot) { s.Spec.OnScheduleDelete = kopiurv1.CascadeRetain }
	for name, tc := range map[string]struct {
		snapshot *kopiurv1.Snapshot
		wantErr  string
	}{
		"made by hand":                      {manual(), ""},
		"with everything":                   {manual(picks(1, "data"), pinnedTo(kopiurv1.RepositoryRef{Name: "nas"}), tagged(map[string]string{"team": "a:b"}), deletes(kopiurv1.DeletionOrphan), cascades), ""},
		"without a policy":                  {manual(origin("")), "spec.policyRef: Required value: write the name of the SnapshotPolicy"},
		"of a schedule without a policy":    {manual(origin(kopiurv1.OriginScheduled)), "spec.policyRef: Required value"},
		"found in the repository":           {manual(origin(kopiurv1.OriginDiscovered)), ""},
		"found, and kept":                   {manual(origin(kopiurv1.OriginDiscovered), deletes(kopiurv1.DeletionRetain)), ""},
		"found, and to be deleted":          {manual(origin(kopiurv1.OriginDiscovered), deletes(kopiurv1.DeletionDelete)), "spec.deletionPolicy: Invalid value: \"Delete\": the snapshot was found in the repository"},
		"found, and to be orphaned":         {manual(origin(kopiurv1.OriginDiscovered), deletes(kopiurv1.DeletionOrphan)), "write Retain, or leave it out"},
		"found, and of a schedule":          {manual(origin(kopiurv1.OriginDiscovered), cascades), "spec.onScheduleDelete: Forbidden"},
		"found, as only its status says":    {manual(origin(""), deletes(kopiurv1.DeletionDelete), func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginDiscovered }), "spec.deletionPolicy: Invalid value"},
		"adopted, and to be deleted":        {manual(origin(kopiurv1.OriginAdopted), deletes(kopiurv1.DeletionDelete)), ""},
		"a copy":                            {manual(origin(kopiurv1.OriginReplicated), deletes(kopiurv1.DeletionDelete), pinnedTo(kopiurv1.RepositoryRef{Name: "offsite"})), ""},
		"of a policy of the same namespace": {manual(func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Namespace = "apps" }), ""},
		"of a policy of another namespace":  {manual(func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Namespace = "db" }), "spec.policyRef.namespace: Invalid value: \"db\": only policies of its own namespace, apps"},
		"of a policy with too long a name":  {manual(func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Name = strings.Repeat("a", 64) }), "spec.policyRef.name: Invalid value"},
		"of a claim of another namespace":   {manual(picks(0, "data"), func(s *kopiurv1.Snapshot) { s.Spec.Source.Target.PVC.Namespace = "db" }), "spec.source.target.pvc.namespace: Invalid value: \"db\""},
		"of a claim that cannot be":         {manual(picks(0, "Data")), "spec.source.target.pvc.name: Invalid value"},
		"of a group of another namespace": {manual(picks(0, ""), func(s *kopiurv1.Snapshot) {
			s.Spec.Source.Group = &kopiurv1.SnapshotGroup{Namespace: "db", VolumeGroupSnapshotName: "g"}
		}), "spec.source.group.namespace: Invalid value"},
		"of a source before the first": {manual(picks(-1, "")), "spec.source.sourceIndex: Invalid value"},
		"in a cluster's namespace":     {manual(pinnedTo(kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository, Namespace: "apps"})), "spec.repository.namespace: Forbidden"},
		"with a tag that has a colon":  {manual(tagged(map[string]string{"a:b": "c"})), "spec.tags[a:b]: Invalid value: \"a:b\": write it without a colon"},
		"with a tag of Kopiur's own":   {manual(tagged(map[string]string{"kopiur-meta": "c"})), "spec.tags[kopiur-meta]: Invalid value"},
		"with a tag that is long":      {manual(tagged(map[string]string{strings.Repeat("a", 64): "c"})), "write at most 63 characters"},
		"with a tag of 63 umlauts":     {manual(tagged(map[string]string{strings.Repeat("ä", 63): "c"})), ""},
		"with a tag that says much":    {manual(tagged(map[string]string{"a": strings.Repeat("a", 257)})), "write at most 256 characters"},
		"with eleven tags":             {manual(tagged(eleven)), "spec.tags: Too many: 11: must have at most 10 items"},
		"with a long description":      {manual(func(s *kopiurv1.Snapshot) { s.Spec.Description = strings.Repeat("a", 1025) }), "spec.description: Too long"},
		"with a failure policy of no time": {manual(func(s *kopiurv1.Snapshot) {
			s.Spec.FailurePolicy = &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: new(int64(0))}
		}), "spec.failurePolicy.activeDeadlineSeconds: Invalid value"},
		"with a mover that has a mistake": {manual(func(s *kopiurv1.Snapshot) { s.Spec.Mover = new(caching(kopiurv1.CacheSpec{Capacity: "much"})) }), "spec.mover.cache.capacity: Invalid value"},
		"with a mover as recorded somewhere": {manual(func(s *kopiurv1.Snapshot) {
			s.Spec.Mover = new(inheriting(kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}))
		}), "spec.mover.inheritSecurityContextFrom.snapshot: Forbidden"},
		"in a manifest that has no namespace": {manual(picks(0, "data"), func(s *kopiurv1.Snapshot) { s.Namespace = ""; s.Spec.PolicyRef.Namespace = "apps" }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Snapshot(tc.snapshot), tc.wantErr, "")
		})
	}
}

func TestSnapshotOfPolicy(t *testing.T) {
	t.Parallel()
	several := web(of(claim("data"), claim("cache"), labelled(map[string]string{"backup": "yes"})))
	selecting := web(of(labelled(nil)))
	fanned := web(toward(kopiurv1.RepositoryRef{Name: "nas"}, kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}))
	for name, tc := range map[string]struct {
		snapshot *kopiurv1.Snapshot
		policy   *kopiurv1.SnapshotPolicy
		wantErr  string
	}{
		"the only source":                     {manual(), web(), ""},
		"the only source, by its index":       {manual(picks(0, "data")), web(), ""},
		"one of several":                      {manual(picks(1, "")), several, ""},
		"none of several":                     {manual(), several, "spec.source: Required value: SnapshotPolicy web has 3 sources: write sourceIndex, one of 0 to 2"},
		"one that there is not":               {manual(picks(3, "")), several, "spec.source.sourceIndex: Invalid value: 3: SnapshotPolicy web has 3 sources"},
		"another claim than the source":       {manual(picks(1, "data")), several, "spec.source.target.pvc.name: Invalid value: \"data\": source 1 of SnapshotPolicy web is claim cache"},
		"a selected claim":                    {manual(picks(2, "media")), several, ""},
		"no selected claim":                   {manual(picks(2, "")), several, "spec.source.target: Required value: source 2 of SnapshotPolicy web selects claims"},
		"nothing of a policy that selects":    {manual(), selecting, "write sourceIndex: 0 and target.pvc"},
		"a claim of a policy that selects":    {manual(picks(0, "media")), selecting, ""},
		"a claim of an export":                {manual(picks(0, "media")), web(of(export("/media"))), "spec.source.target: Forbidden"},
		"an export":                           {manual(), web(of(export("/media"))), ""},
		"no repository of several":            {manual(), fanned, "spec.repository: Required value: SnapshotPolicy web has several repositories: write one of Repository apps/nas, ClusterRepository offsite"},
		"one repository of several":           {manual(pinnedTo(kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository})), fanned, ""},
		"another repository than the several": {manual(pinnedTo(kopiurv1.RepositoryRef{Name: "offsite"})), fanned, "spec.repository: Invalid value: \"Repository apps/offsite\""},
		"another repository than the one":     {manual(pinnedTo(kopiurv1.RepositoryRef{Name: "offsite"})), web(), "SnapshotPolicy web uses Repository apps/nas: write that, or leave it out"},
		"the repository, in full":             {manual(pinnedTo(kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps"})), web(), ""},
		"a policy that has no sources yet":    {manual(), web(of()), ""},
		"one that was found: it is made":      {manual(func(s *kopiurv1.Snapshot) { s.Labels = map[string]string{kopiurv1.LabelOrigin: kopiurv1.OriginAdopted} }), several, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, SnapshotOfPolicy(tc.snapshot, tc.policy), tc.wantErr, "")
		})
	}
}

func TestSnapshotUpdate(t *testing.T) {
	t.Parallel()
	phase := func(p kopiurv1.SnapshotPhase) *kopiurv1.Snapshot {
		return manual(tagged(map[string]string{"team": "a"}), func(s *kopiurv1.Snapshot) { s.Status.Phase = p })
	}
	with := func(p kopiurv1.SnapshotPhase) *kopiurv1.Snapshot {
		s := phase(p)
		s.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
		return s
	}
	started := phase(kopiurv1.SnapshotRunning)
	started.Status.Job = &kopiurv1.JobStatus{Name: "kopiur-s-one"}
	reported := phase(kopiurv1.SnapshotFailed)
	reported.Status.Timing = &kopiurv1.Timing{}
	neverStarted := phase(kopiurv1.SnapshotFailed)
	neverStarted.Status.Job = &kopiurv1.JobStatus{Name: "kopiur-s-one"}
	policy := func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Name = "other" }
	found := phase(kopiurv1.SnapshotDiscovered)
	found.Spec.PolicyRef, found.Labels = nil, map[string]string{kopiurv1.LabelOrigin: kopiurv1.OriginDiscovered}
	take := func(s *kopiurv1.Snapshot) {
		s.Spec.PolicyRef, s.Labels = &kopiurv1.PolicyRef{Name: "web"}, map[string]string{kopiurv1.LabelOrigin: kopiurv1.OriginAdopted}
	}
	taken := found.DeepCopy()
	take(taken)
	fate := func(s *kopiurv1.Snapshot) {
		s.Spec.DeletionPolicy, s.Spec.OnScheduleDelete, s.Spec.Pin = kopiurv1.DeletionRetain, kopiurv1.CascadeRetain, true
	}
	for name, tc := range map[string]struct {
		old     *kopiurv1.Snapshot
		change  func(*kopiurv1.Snapshot)
		wantErr string
	}{
		"what becomes of the data, after a success":     {phase(kopiurv1.SnapshotSucceeded), fate, ""},
		"labels and annotations, after a success":       {phase(kopiurv1.SnapshotSucceeded), func(s *kopiurv1.Snapshot) { s.Labels = map[string]string{"a": "b"} }, ""},
		"the policy, after a success":                   {phase(kopiurv1.SnapshotSucceeded), policy, "spec.policyRef: Forbidden: the Snapshot is Succeeded: create another one"},
		"no policy any more, after a success":           {phase(kopiurv1.SnapshotSucceeded), func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef = nil }, "spec.policyRef: Forbidden"},
		"the repository, when nothing had changed":      {phase(kopiurv1.SnapshotUnchanged), pinnedTo(kopiurv1.RepositoryRef{Name: "offsite"}), "spec.repository: Forbidden"},
		"the source, after the mover's failure":         {reported, picks(1, ""), "spec.source: Forbidden"},
		"tags, while it goes away":                      {phase(kopiurv1.SnapshotDeleting), tagged(nil), "spec.tags: Forbidden: the Snapshot is Deleting"},
		"a description, of one that was found":          {phase(kopiurv1.SnapshotDiscovered), func(s *kopiurv1.Snapshot) { s.Spec.Description = "x" }, "spec.description: Forbidden"},
		"a policy that takes over what was found":       {found, take, ""},
		"a policy, of one that stays a mere row":        {found, func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"} }, "spec.policyRef: Forbidden"},
		"another policy, of one that was taken over":    {taken, policy, "spec.policyRef: Forbidden"},
		"the mover, after a success":                    {phase(kopiurv1.SnapshotSucceeded), func(s *kopiurv1.Snapshot) { s.Spec.Mover = &kopiurv1.MoverSpec{} }, "spec.mover: Forbidden"},
		"a client that knows no mover, after a success": {with(kopiurv1.SnapshotSucceeded), func(s *kopiurv1.Snapshot) { s.Spec.Mover, s.Spec.Pin = nil, true }, ""},
		"another mover, after a success":                {with(kopiurv1.SnapshotSucceeded), func(s *kopiurv1.Snapshot) { s.Spec.Mover = &kopiurv1.MoverSpec{} }, "spec.mover: Forbidden"},
		"the policy, while it waits":                    {phase(kopiurv1.SnapshotPending), policy, ""},
		"the policy, before it was looked at":           {phase(""), policy, ""},
		"the policy, while its mover runs":              {started, policy, "spec.policyRef: Forbidden: its mover was started"},
		"the failure policy, while its mover runs":      {started, func(s *kopiurv1.Snapshot) { s.Spec.FailurePolicy = &kopiurv1.FailurePolicy{} }, ""},
		"the policy, after a failure without a mover":   {phase(kopiurv1.SnapshotFailed), policy, ""},
		"the policy, after a mover that did not start":  {neverStarted, policy, ""},
		"no tags instead of empty ones":                 {manual(tagged(map[string]string{}), func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotSucceeded }), tagged(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			updated := tc.old.DeepCopy()
			tc.change(updated)
			matches(t, SnapshotUpdate(updated, tc.old), tc.wantErr, "")
		})
	}
}
