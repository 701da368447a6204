// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
)

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

type change func(*deletion.Facts)

// facts are those of a Snapshot whose schedule, policy, namespace and repository are all there.
func facts(changes ...change) deletion.Facts {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "one", UID: "uid-one", DeletionTimestamp: &metav1.Time{Time: noon},
		Finalizers: []string{kopiurv1.FinalizerSnapshot},
	}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	s.Status.Origin, s.Status.Phase = kopiurv1.OriginManual, kopiurv1.SnapshotSucceeded
	s.Status.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: "k1", Identity: kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}}
	f := deletion.Facts{
		Snapshot: s, Policy: deletion.Present, PolicyDefault: kopiurv1.DeletionDelete, Schedule: deletion.None,
		Namespace: deletion.Present, Kind: deletion.Present, Repository: deletion.Present, RepositoryName: "Repository apps/nas", Live: true,
	}
	for _, c := range changes {
		c(&f)
	}
	return f
}

func policy(p deletion.Presence) change     { return func(f *deletion.Facts) { f.Policy = p } }
func schedule(p deletion.Presence) change   { return func(f *deletion.Facts) { f.Schedule = p } }
func namespace(p deletion.Presence) change  { return func(f *deletion.Facts) { f.Namespace = p } }
func repository(p deletion.Presence) change { return func(f *deletion.Facts) { f.Repository = p } }
func kind(p deletion.Presence) change       { return func(f *deletion.Facts) { f.Kind = p } }
func cached(f *deletion.Facts)              { f.Live = false }
func atHome(f *deletion.Facts)              { f.AtHome = true }

func byDefault(d kopiurv1.DeletionPolicy) change {
	return func(f *deletion.Facts) { f.PolicyDefault = d }
}

func onNamespace(d kopiurv1.NamespaceDeletePolicy) change {
	return func(f *deletion.Facts) { f.OnNamespaceDelete = d }
}

func says(d kopiurv1.DeletionPolicy) change {
	return func(f *deletion.Facts) { f.Snapshot.Spec.DeletionPolicy = d }
}

func onSchedule(d kopiurv1.CascadePolicy) change {
	return func(f *deletion.Facts) { f.Snapshot.Spec.OnScheduleDelete = d }
}
func origin(o string) change { return func(f *deletion.Facts) { f.Snapshot.Status.Origin = o } }
func prunedBy(v string) change {
	return func(f *deletion.Facts) {
		f.Snapshot.Annotations = map[string]string{kopiurv1.AnnotationPrunedBy: v}
	}
}

func skip(f *deletion.Facts) {
	f.Snapshot.Annotations = map[string]string{kopiurv1.AnnotationSkipSnapshotCleanup: ""}
}

func pinnedDefault(d kopiurv1.DeletionPolicy) change {
	return func(f *deletion.Facts) { f.Snapshot.Status.Resolved = &kopiurv1.SnapshotResolved{DeletionPolicy: d} }
}

const (
	remove  = kopiurv1.DeletionDelete
	retain  = kopiurv1.DeletionRetain
	orphan  = kopiurv1.DeletionOrphan
	nothing = kopiurv1.DeletionPolicy("")
)

// TestPrecedenceD8 is the table of what becomes of stored data.
func TestPrecedenceD8(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		f          deletion.Facts
		want       kopiurv1.DeletionPolicy
		wantReason string
	}{
		"without any word data goes with its object":            {facts(byDefault("")), remove, ""},
		"the policy's default Delete":                           {facts(), remove, ""},
		"the policy's default Retain":                           {facts(byDefault(retain)), retain, kopiurv1.ReasonSnapshotRetained},
		"the policy's default Orphan":                           {facts(byDefault(orphan)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"the policy's default Retain for a schedule's":          {facts(byDefault(retain), origin(kopiurv1.OriginScheduled), schedule(deletion.Present), onSchedule(kopiurv1.CascadeDelete)), retain, kopiurv1.ReasonSnapshotRetained},
		"the Snapshot's Retain wins over the policy":            {facts(says(retain)), retain, kopiurv1.ReasonSnapshotRetained},
		"the Snapshot's Orphan wins over the policy":            {facts(says(orphan)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"the Snapshot's Delete wins over the policy":            {facts(says(remove), byDefault(retain)), remove, ""},
		"a discovered row is a view, whatever it says":          {facts(says(remove), origin(kopiurv1.OriginDiscovered)), retain, kopiurv1.ReasonSnapshotRetained},
		"one that only its label calls discovered too":          {facts(says(remove), origin(""), func(f *deletion.Facts) { f.Snapshot.Labels = map[string]string{kopiurv1.LabelOrigin: "discovered"} }), retain, kopiurv1.ReasonSnapshotRetained},
		"and one that only its phase calls so":                  {facts(says(remove), func(f *deletion.Facts) { f.Snapshot.Status.Phase = kopiurv1.SnapshotDiscovered }), retain, kopiurv1.ReasonSnapshotRetained},
		"an adopted one goes by its policy":                     {facts(origin(kopiurv1.OriginAdopted)), remove, ""},
		"an adopted one without a policy stays":                 {facts(origin(kopiurv1.OriginAdopted), policy(deletion.None)), retain, kopiurv1.ReasonSnapshotRetained},
		"an adopted one whose policy is gone stays":             {facts(origin(kopiurv1.OriginAdopted), policy(deletion.Gone)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"also where the policy wanted to take it along":         {facts(origin(kopiurv1.OriginAdopted), policy(deletion.Gone), prunedBy(kopiurv1.PrunedByPolicyCascade)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"a copy has no policy and goes":                         {facts(origin(kopiurv1.OriginReplicated), policy(deletion.None)), remove, ""},
		"a policy that is gone leaves the data":                 {facts(policy(deletion.Gone)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"unless it wrote its wish on the Snapshot":              {facts(policy(deletion.Gone), prunedBy(kopiurv1.PrunedByPolicyCascade)), remove, ""},
		"or the Snapshot itself says Delete (D-4)":              {facts(policy(deletion.Gone), says(remove)), remove, ""},
		"a policy's wish is nothing against its default":        {facts(byDefault(retain), prunedBy(kopiurv1.PrunedByPolicyCascade)), retain, kopiurv1.ReasonSnapshotRetained},
		"retention cannot ask a policy that is gone":            {facts(policy(deletion.Gone), prunedBy(kopiurv1.PrunedByRetention)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"a schedule that is gone leaves the data (D-1)":         {facts(schedule(deletion.Gone)), retain, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete},
		"also where the Snapshot says Delete":                   {facts(schedule(deletion.Gone), says(remove)), retain, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete},
		"and where both schedule and policy went":               {facts(schedule(deletion.Gone), policy(deletion.Gone), prunedBy(kopiurv1.PrunedByPolicyCascade)), retain, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete},
		"unless onScheduleDelete is Delete":                     {facts(schedule(deletion.Gone), onSchedule(kopiurv1.CascadeDelete)), remove, ""},
		"onScheduleDelete Retain says the same as nothing":      {facts(schedule(deletion.Gone), onSchedule(kopiurv1.CascadeRetain)), retain, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete},
		"a schedule that is there has no say":                   {facts(schedule(deletion.Present)), remove, ""},
		"retention prunes after the schedule is gone":           {facts(schedule(deletion.Gone), prunedBy(kopiurv1.PrunedByRetention)), remove, ""},
		"an unknown pruner is an outsider":                      {facts(schedule(deletion.Gone), prunedBy("me")), retain, kopiurv1.ReasonSnapshotRetainedOnScheduleDelete},
		"a namespace that ends leaves the data (D-9)":           {facts(namespace(deletion.Gone)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"also where the Snapshot says Delete (D-9)":             {facts(namespace(deletion.Gone), says(remove)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"also with the repository's Orphan":                     {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceOrphan)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"also when the repository went first":                   {facts(namespace(deletion.Gone), repository(deletion.Gone)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"also when nothing names a repository":                  {facts(namespace(deletion.Gone), repository(deletion.None)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"onNamespaceDelete Delete deletes":                      {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete)), remove, ""},
		"but not from a namespace that ends itself":             {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), atHome), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"with its schedule gone in the same sweep":              {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), schedule(deletion.Gone)), remove, ""},
		"with its policy gone, by what the run resolved":        {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), policy(deletion.Gone), pinnedDefault(remove)), remove, ""},
		"which may have been Retain":                            {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), policy(deletion.Gone), pinnedDefault(retain)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"or nothing":                                            {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), policy(deletion.Gone)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"a policy's default Retain survives the namespace":      {facts(namespace(deletion.Gone), onNamespace(kopiurv1.NamespaceDelete), byDefault(retain)), retain, kopiurv1.ReasonSnapshotRetained},
		"what a run resolved counts for a namespace only":       {facts(policy(deletion.Gone), pinnedDefault(remove)), retain, kopiurv1.ReasonSnapshotRetainedOnPolicyDelete},
		"a repository that is gone leaves the data":             {facts(repository(deletion.Gone)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"so does one that nothing names":                        {facts(repository(deletion.None)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"a stored snapshot without an identity is not searched": {facts(func(f *deletion.Facts) { f.Snapshot.Status.Snapshot.Identity.Hostname = "" }), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"nor one with neither id nor start":                     {facts(func(f *deletion.Facts) { f.Snapshot.Status.Snapshot.KopiaSnapshotID = "" }), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"a start is as good as an id (K-3)": {facts(func(f *deletion.Facts) {
			f.Snapshot.Status.Snapshot.KopiaSnapshotID, f.Snapshot.Status.Timing = "", &kopiurv1.Timing{StartTime: "2026-03-05T02:00:00Z"}
		}), remove, ""},
		"removing the CRDs leaves the data (D-12)":           {facts(kind(deletion.Gone), says(remove)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"without the right to read CRDs all goes on":         {facts(kind(deletion.None)), remove, ""},
		"the skip annotation is the last word":               {facts(skip, says(remove)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"also where nothing is known":                        {facts(skip, policy(deletion.Unknown), namespace(deletion.Unknown), repository(deletion.Unknown), kind(deletion.Unknown)), orphan, kopiurv1.ReasonSnapshotOrphaned},
		"Retain needs to know nothing":                       {facts(says(retain), policy(deletion.Unknown), namespace(deletion.Unknown), repository(deletion.Unknown)), retain, kopiurv1.ReasonSnapshotRetained},
		"an unknown policy decides nothing":                  {facts(policy(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"an unknown schedule decides nothing":                {facts(schedule(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"an unknown namespace decides nothing":               {facts(namespace(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"an unknown repository decides nothing":              {facts(repository(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"not even in a namespace that ends":                  {facts(namespace(deletion.Gone), repository(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"an unknown definition of the kind decides nothing":  {facts(kind(deletion.Unknown)), nothing, kopiurv1.ReasonDeletionUndecided},
		"no facts at all decide nothing":                     {deletion.Facts{Snapshot: facts().Snapshot}, nothing, kopiurv1.ReasonDeletionUndecided},
		"no Snapshot decides nothing":                        {deletion.Facts{}, nothing, kopiurv1.ReasonDeletionUndecided},
		"a deletionPolicy that this version does not know":   {facts(says("Shred")), retain, kopiurv1.ReasonSnapshotRetained},
		"a policy's default that this version does not know": {facts(byDefault("Shred")), retain, kopiurv1.ReasonSnapshotRetained},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := deletion.Decide(tc.f)
			assert.Equal(t, tc.want, got.Policy)
			assert.Equal(t, tc.wantReason, got.Reason)
			assert.Equal(t, tc.want != remove, got.Message != "", "what keeps data explains itself")
			assert.False(t, got.Prove, "live facts are proof")
		})
	}
}

// TestAColdCacheProvesNothing: whatever hangs on something being gone is asked for live, before it is decided.
func TestAColdCacheProvesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		f    deletion.Facts
		want bool
	}{
		"a policy that is gone":                   {facts(cached, policy(deletion.Gone)), true},
		"a schedule that is gone":                 {facts(cached, schedule(deletion.Gone)), true},
		"a namespace that ends":                   {facts(cached, namespace(deletion.Gone)), true},
		"a repository that is gone":               {facts(cached, repository(deletion.Gone)), true},
		"a kind that ends":                        {facts(cached, kind(deletion.Gone)), true},
		"what the Snapshot itself says needs not": {facts(cached, says(retain)), false},
		"nor does a person's last word":           {facts(cached, skip), false},
		"nor a wait":                              {facts(cached), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, deletion.Decide(tc.f).Prove)
		})
	}
}

func TestWhoIsDeleting(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		kopiurv1.PrunedByRetention: true, kopiurv1.PrunedByFailedHistory: true, kopiurv1.PrunedByReplicationRetention: true,
		kopiurv1.PrunedByReplacedRun: true, kopiurv1.PrunedByPolicyCascade: false, "": false, "Retention": false, "true": false,
	} {
		assert.Equal(t, want, deletion.Prune(facts(prunedBy(value)).Snapshot), value)
	}
	assert.False(t, deletion.Prune(facts().Snapshot))
}
