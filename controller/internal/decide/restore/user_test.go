// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

// asThe lets the mover run as somebody else does.
func asThe(from kopiurv1.InheritSecurityContextFrom, more ...func(*kopiurv1.MoverSpec)) change {
	return spec(func(s *kopiurv1.RestoreSpec) {
		s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &from}
		for _, f := range more {
			f(s.Mover)
		}
	})
}

var (
	backupDid   = kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}
	databaseDid = kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
	}}
)

func named(uid int64) func(*kopiurv1.MoverSpec) {
	return func(m *kopiurv1.MoverSpec) { m.SecurityContext = &corev1.SecurityContext{RunAsUser: &uid} }
}

func rooted(m *kopiurv1.MoverSpec) { m.PrivilegedMode = new(true) }

func recorded(uid *int64) change {
	return func(w *restore.World) {
		w.Recorded = &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedInherited, UID: uid, GID: new(int64(998)), FSGroup: new(int64(997))}
	}
}

// database is a running pod of uid 999 on node-1 that uses the target's claim.
func database(changes ...func(*corev1.Pod)) change {
	return func(w *restore.World) {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}},
			Spec: corev1.PodSpec{
				NodeName: "node-1", Tolerations: []corev1.Toleration{{Key: "db"}},
				Containers: []corev1.Container{{Name: "db", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999)), RunAsGroup: new(int64(998))}}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: restore.TargetClaim(w.Restore)},
				}}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		for _, f := range changes {
			f(&p)
		}
		w.Neighbours = append(w.Neighbours, p)
	}
}

// TestUserF2F7J2: a restore runs as the backup did, or as the application does, and waits where nobody knows who that is.
func TestUserF2F7J2(t *testing.T) {
	t.Parallel()
	permitted := func(w *restore.World) {
		w.NamespaceAnnotations = map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}
	}
	for name, tc := range map[string]struct {
		world    restore.World
		uid      int64
		resolved string
		unusual  string
	}{
		"nobody is named: Kopiur's own":                       {fromSnapshot(), 65532, "", ""},
		"as the backup did":                                   {fromSnapshot(asThe(backupDid), recorded(new(int64(999)))), 999, kopiurv1.ReasonInheritApplied, ""},
		"what the Restore names wins over the backup":         {fromSnapshot(asThe(backupDid, named(1000)), recorded(new(int64(999)))), 1000, kopiurv1.ReasonInheritApplied, kopiurv1.ReasonInheritOverridden},
		"nothing was recorded, and the Restore names a user":  {fromSnapshot(asThe(backupDid, named(1000))), 1000, "", kopiurv1.ReasonInheritFallback},
		"as the application does":                             {fromSnapshot(asThe(databaseDid), database()), 999, kopiurv1.ReasonInheritApplied, ""},
		"no such pod, and the Restore names a user":           {fromSnapshot(asThe(databaseDid, named(1000))), 1000, "", kopiurv1.ReasonInheritFallback},
		"a pod that does not say who it is":                   {fromSnapshot(asThe(databaseDid), database(func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = nil })), 65532, kopiurv1.ReasonInheritApplied, kopiurv1.ReasonInheritPinnedNoUID},
		"a privileged one is root, whoever the backup was":    {fromSnapshot(asThe(backupDid, rooted), recorded(new(int64(10000))), permitted), 0, "", kopiurv1.ReasonInheritOverridden},
		"a privileged one is root, and waits for nobody":      {fromSnapshot(asThe(databaseDid, rooted), permitted), 0, "", kopiurv1.ReasonInheritOverridden},
		"a pod of root makes a mover of root, with a consent": {fromSnapshot(asThe(databaseDid), permitted, database(func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(0)) })), 0, kopiurv1.ReasonInheritApplied, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			require.NotNil(t, p.Job, p.Message)
			assert.Equal(t, tc.uid, *p.Job.Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser)
			assert.Equal(t, tc.resolved, find(p, kopiurv1.ConditionSecurityContextResolved).Reason)
			assert.Equal(t, tc.unusual, find(p, kopiurv1.ConditionSecurityContextInherited).Reason)
		})
	}
	for name, tc := range map[string]struct {
		world  restore.World
		reason string
		wantIn string
	}{
		"a backup of which nothing is known":           {fromSnapshot(asThe(backupDid)), kopiurv1.ReasonMissingRecordedIdentity, "set mover.securityContext.runAsUser"},
		"a backup of a user that nobody knew":          {fromSnapshot(asThe(backupDid), recorded(nil)), kopiurv1.ReasonMissingRecordedIdentity, "set mover.securityContext.runAsUser"},
		"an application at zero":                       {fromSnapshot(asThe(databaseDid)), kopiurv1.ReasonInheritSourceMissing, "no running pod matches app=db"},
		"an application whose pod has ended":           {fromSnapshot(asThe(databaseDid), database(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })), kopiurv1.ReasonInheritSourceMissing, "start it"},
		"a pod of root in a namespace that forbids it": {fromSnapshot(asThe(databaseDid), database(func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext.RunAsUser = new(int64(0)) })), kopiurv1.ReasonPrivilegedMoverNotPermitted, "does not allow that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.reason, p.Reason)
			assert.Contains(t, p.Message, tc.wantIn)
			assert.Equal(t, restore.Progressing, p.State, "it heals by itself")
			assert.Nil(t, p.Job)
			assert.Nil(t, p.Claim, "an empty claim looks like one that was restored")
		})
	}
	t.Run("a question takes nobody's user", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromPolicy(asThe(databaseDid)), now)
		require.NotNil(t, p.Job, p.Message)
		assert.Equal(t, int64(65532), *p.Job.Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser)
	})
	t.Run("where there is nothing to write nobody is asked for", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(asThe(databaseDid), existing, claim(""), pinned(""), status(func(s *kopiurv1.RestoreStatus) { s.Resolved.Resolution = kopiurv1.ResolutionNoSnapshot }))
		assert.Equal(t, kopiurv1.RestoreCompleted, restore.Decide(w, now).Status.Phase)
	})
}

// TestRecordedOf finds the object of a snapshot that the repository was asked for.
func TestRecordedOf(t *testing.T) {
	t.Parallel()
	id := kopiurv1.Identity{Username: "db", Hostname: "apps", SourcePath: "/pvc/data"}
	snapshot := func(kopiaID, start string, id kopiurv1.Identity) kopiurv1.Snapshot {
		return kopiurv1.Snapshot{Status: kopiurv1.SnapshotStatus{
			Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: kopiaID, Identity: id}, Timing: &kopiurv1.Timing{StartTime: start},
			Recorded: &kopiurv1.Recorded{UID: new(int64(999))},
		}}
	}
	pin := &kopiurv1.RestoreResolved{KopiaSnapshotID: "k9", Identity: &id, StartTime: "2026-03-05T02:00:00.25Z"}
	other := id
	other.SourcePath = "/pvc/logs"
	for name, tc := range map[string]struct {
		list []kopiurv1.Snapshot
		want bool
	}{
		"by its id": {[]kopiurv1.Snapshot{snapshot("k8", "2026-03-04T02:00:00Z", id), snapshot("k9", "", id)}, true},
		"by its start, where a pin has renamed it": {[]kopiurv1.Snapshot{snapshot("k9p", "2026-03-05T02:00:00Z", id)}, true},
		"not by a start that is another's":         {[]kopiurv1.Snapshot{snapshot("k9p", "2026-03-05T02:00:01Z", id)}, false},
		"not one of another volume":                {[]kopiurv1.Snapshot{snapshot("k9", "2026-03-05T02:00:00Z", other)}, false},
		"not one that stored nothing":              {[]kopiurv1.Snapshot{{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, restore.RecordedOf(pin, tc.list) != nil)
		})
	}
	assert.Nil(t, restore.RecordedOf(nil, nil))
}

// TestTargetNode: who writes into a volume that one node holds goes to that node.
func TestTargetNode(t *testing.T) {
	t.Parallel()
	held := func(changes ...change) restore.World {
		return fromSnapshot(append([]change{existing, claim("", corev1.ReadWriteOnce)}, changes...)...)
	}
	mode := func(m kopiurv1.ColocationMode) change {
		return func(w *restore.World) {
			w.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{SourceColocation: &kopiurv1.SourceColocation{Mode: m}}
		}
	}
	attached := func(w *restore.World) { w.Attached = "node-2" }
	for name, tc := range map[string]struct {
		world restore.World
		node  string
	}{
		"the node of the pod that uses it, with its tolerations": {held(database()), "node-1"},
		"a pod that is still starting holds it as well":          {held(database(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })), "node-1"},
		"the node it is attached to, where no pod uses it":       {held(attached), "node-2"},
		"the pod that uses it wins":                              {held(attached, database()), "node-1"},
		"nobody holds it: anywhere, whatever the mode":           {held(mode(kopiurv1.ColocationRequired)), ""},
		"a shared volume: anywhere":                              {fromSnapshot(existing, claim("", corev1.ReadWriteMany), database()), ""},
		"a claim that is to be made: anywhere":                   {fromSnapshot(), ""},
		"Disabled: anywhere":                                     {held(mode(kopiurv1.ColocationDisabled), database()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			require.NotNil(t, p.Job, p.Message)
			pod := p.Job.Spec.Template.Spec
			if tc.node == "" {
				assert.Nil(t, pod.Affinity)
				return
			}
			term := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			assert.Equal(t, []string{tc.node}, term.MatchFields[0].Values)
			if tc.node == "node-1" {
				assert.Equal(t, "db", pod.Tolerations[0].Key)
			}
		})
	}
	t.Run("a question goes anywhere", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromPolicy(existing, claim("", corev1.ReadWriteOnce), database()), now)
		require.NotNil(t, p.Job)
		assert.Nil(t, p.Job.Spec.Template.Spec.Affinity)
	})
}

// TestWithhold: credentials that could not be copied leave nothing behind, and the same attempt is gone on with.
func TestWithhold(t *testing.T) {
	t.Parallel()
	w := fromSnapshot()
	p := restore.Decide(w, now)
	require.NotNil(t, p.Claim)
	name := p.Job.Name
	p.Withhold(gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: "somebody else's"})
	assert.Nil(t, p.Claim)
	assert.Nil(t, p.Job)
	assert.Equal(t, metav1.ConditionFalse, find(p, kopiurv1.ConditionCredentialsAvailable).Status)
	assert.Empty(t, find(p, kopiurv1.ConditionTargetAvailable).Type, "the claim was not made")
	assert.Equal(t, time.Minute, p.After)
	again := restore.Decide(then(w, p), now.Add(time.Minute))
	require.NotNil(t, again.Job)
	assert.Equal(t, name, again.Job.Name)
}
