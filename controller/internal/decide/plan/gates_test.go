// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

type row struct {
	w      plan.World
	action plan.Action
	phase  kopiurv1.SnapshotPhase
	reason string
	says   string
	after  time.Duration
	// op of the failure, where it is one.
	op string
}

func check(t *testing.T, tc row) plan.Plan {
	t.Helper()
	p := plan.Decide(tc.w, now)
	require.Zero(t, p.Ask, "everything was looked up")
	assert.Equal(t, tc.action, p.Action)
	assert.Equal(t, tc.phase, p.Phase)
	assert.Equal(t, tc.reason, p.Reason, p.Message)
	assert.Contains(t, p.Message, tc.says)
	assert.Equal(t, tc.after, p.After)
	if tc.op != "" {
		require.NotNil(t, p.Failure)
		assert.Equal(t, tc.op, p.Failure.Op)
	}
	return p
}

// TestGates closes one gate of an otherwise open world.
func TestGates(t *testing.T) {
	t.Parallel()
	const wait, fail = plan.Wait, plan.Fail
	const pending, failed = kopiurv1.SnapshotPending, kopiurv1.SnapshotFailed
	for name, tc := range map[string]row{
		"no policy is named": {
			world(func(w *plan.World) { w.Snapshot.Spec.PolicyRef = nil }), fail, failed, kopiurv1.ReasonInvalidSpec, "spec.policyRef: Required value", 0, plan.OpPrepare,
		},
		"a policy of another namespace is not used": {
			world(func(w *plan.World) { w.Snapshot.Spec.PolicyRef.Namespace = "other" }), fail, failed, kopiurv1.ReasonInvalidSpec, "policies of its own namespace, apps", 0, plan.OpPrepare,
		},
		"the policy does not exist": {
			world(func(w *plan.World) { w.Policy = nil }), wait, pending, kopiurv1.ReasonMissingDependency, "SnapshotPolicy apps/web does not exist", 0, "",
		},
		"the policy is going away": {
			world(func(w *plan.World) { w.Policy.DeletionTimestamp = new(metav1.NewTime(now)) }), wait, pending, kopiurv1.ReasonMissingDependency, "does not exist", 0, "",
		},
		"the policy is suspended": {
			world(func(w *plan.World) { w.Policy.Spec.Suspend = true }), wait, pending, kopiurv1.ReasonSuspended, "web is suspended", 0, "",
		},
		"the policy has several repositories and none is picked": {
			world(several), fail, failed, kopiurv1.ReasonInvalidSpec, "write one of Repository apps/nas, Repository apps/offsite", 0, plan.OpPrepare,
		},
		"the picked one of several repositories does not exist": {
			world(several, func(w *plan.World) {
				w.Snapshot.Spec.Repository, w.Repository = &kopiurv1.RepositoryRef{Name: "offsite"}, nil
			}), wait, pending, kopiurv1.ReasonMissingDependency, "Repository apps/offsite does not exist", 0, "",
		},
		"one of several repositories": {
			world(several, func(w *plan.World) { w.Snapshot.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"} }), plan.Start, pending, "", "", 0, "",
		},
		"the repository makes no identity of the policy": {
			world(func(w *plan.World) {
				w.Repository.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{UsernameExpr: `labels["team"]`}
			}), wait, pending, kopiurv1.ReasonIdentityUnresolved, "no such key: team", 0, "",
		},
		"another policy files under the same identity": {
			world(func(w *plan.World) {
				twin := w.Policy.DeepCopy()
				twin.Name, twin.Spec.Identity = "twin", &kopiurv1.PolicyIdentity{Username: "web"}
				w.Others = []kopiurv1.SnapshotPolicy{*w.Policy, *twin}
			}), wait, pending, kopiurv1.ReasonIdentityCollision, "SnapshotPolicy apps/twin", 0, "",
		},
		"the policy's snapshots lie under another identity": {
			world(func(w *plan.World) {
				w.History.Latest = &kopiurv1.Identity{Username: "old", Hostname: "apps", SourcePath: "/pvc/data"}
			}), wait, pending, kopiurv1.ReasonIdentityChanged, "snapshots as old@apps:/pvc/data", 0, "",
		},
		"they do, and somebody wrote that it is meant": {
			world(func(w *plan.World) {
				w.History.Latest = &kopiurv1.Identity{Username: "old", Hostname: "apps"}
				w.Policy.Annotations = map[string]string{kopiurv1.AnnotationAllowIdentityChange: "yes"}
			}), plan.Start, pending, "", "", 0, "",
		},
		"the policy has no repository": {
			world(func(w *plan.World) { w.Policy.Spec.Repository, w.Repository = nil, nil }), wait, pending, kopiurv1.ReasonInvalidSpec, "exactly one of repository, repositories", 0, "",
		},
		"another repository than the policy's is pinned": {
			world(func(w *plan.World) { w.Snapshot.Spec.Repository = &kopiurv1.RepositoryRef{Name: "offsite"} }), fail, failed, kopiurv1.ReasonInvalidSpec, "uses Repository apps/nas", 0, plan.OpPrepare,
		},
		"another claim than the source's is the target": {
			world(func(w *plan.World) {
				w.Snapshot.Spec.Source = &kopiurv1.SnapshotSource{Target: &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: "more", Namespace: "apps"}}}
			}), fail, failed, kopiurv1.ReasonInvalidSpec, "source 0 of SnapshotPolicy web is claim data", 0, plan.OpPrepare,
		},
		"it belongs to a group, and the policy makes no copies by now": {
			world(waiting, func(w *plan.World) { w.Policy.Spec.CopyMethod = kopiurv1.CopyDirect }), fail, failed, kopiurv1.ReasonGroupSnapshotUnsupported, "copyMethod: Direct by now", 0, plan.OpPrepare,
		},
		"it belongs to a group and is no claim": {
			world(waiting, exported), fail, failed, kopiurv1.ReasonInvalidSpec, "only claims are cut together", 0, plan.OpPrepare,
		},
		"the policy cannot be carried out": {
			world(func(w *plan.World) { w.Policy.Spec.Sources[0].ReadOnly = new(false) }), wait, pending, kopiurv1.ReasonInvalidSpec, "acknowledgeLiveMutation: true", 0, "",
		},
		"several sources and none is picked": {
			world(func(w *plan.World) {
				w.Policy.Spec.Sources = append(w.Policy.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "more"}})
			}), fail, failed, kopiurv1.ReasonInvalidSpec, "write sourceIndex, one of 0 to 1", 0, plan.OpPrepare,
		},
		"a copy of the repository's own claim would store the repository in itself": {
			world(copying, func(w *plan.World) {
				name := w.Policy.Spec.Sources[0].PVC.Name
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{
					Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: name}},
				}}
			}), wait, pending, kopiurv1.ReasonInvalidSpec, "it cannot be its own source", 0, "",
		},
		"the source does not exist in the policy": {
			world(func(w *plan.World) { w.Snapshot.Spec.Source = &kopiurv1.SnapshotSource{SourceIndex: 1} }), fail, failed, kopiurv1.ReasonInvalidSpec, "has 1 sources, counted from 0", 0, plan.OpPrepare,
		},
		"the repository does not exist": {
			world(func(w *plan.World) { w.Repository = nil }), wait, pending, kopiurv1.ReasonMissingDependency, "Repository apps/nas does not exist", 0, "",
		},
		"the repository is read-only": {
			world(func(w *plan.World) { w.Repository.Spec.Mode = kopiurv1.ModeReadOnly }), wait, pending, kopiurv1.ReasonRepositoryReadOnly, "takes no snapshots", 0, "",
		},
		"the repository is suspended": {
			world(func(w *plan.World) { w.Repository.Spec.Suspend = true }), wait, pending, kopiurv1.ReasonRepositoryNotReady, "suspended", 0, "",
		},
		"the repository is not Ready, and says why": {
			world(func(w *plan.World) {
				w.Repository.Status.Phase = kopiurv1.RepositoryDegraded
				w.Repository.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Status: metav1.ConditionFalse, Message: "the store does not answer"}}
			}), wait, pending, kopiurv1.ReasonRepositoryNotReady, "Degraded; its own conditions say why: the store does not answer", 0, "",
		},
		"the repository's volume is not in the namespace": {
			world(func(w *plan.World) {
				w.RepositoryVolume = gates.Verdict{Reason: kopiurv1.ReasonRepositoryVolumeNotReachable, Message: "claim store"}
			}),
			wait, pending, kopiurv1.ReasonRepositoryVolumeNotReachable, "claim store", 0, "",
		},
		"the namespace is not allowed": {
			world(func(w *plan.World) { w.Repository.Allowed = &kopiurv1.AllowedNamespaces{List: []string{"other"}} }), wait, pending, kopiurv1.ReasonNamespaceNotAllowed, "spec.allowedNamespaces", 0, "",
		},
		"a Secret is missing": {
			world(func(w *plan.World) {
				w.Credentials = gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: "Secret apps/password"}
			}),
			wait, pending, kopiurv1.ReasonMissingCredentialsSecret, "Secret apps/password", 0, "",
		},
		"the source is missing, from now on": {
			world(func(w *plan.World) { w.Source = nil }), wait, pending, kopiurv1.ReasonSourcePVCMissing, "claim apps/data", 30 * time.Minute, "",
		},
		"the source is missing for a while": {
			world(func(w *plan.World) { w.Source = nil }, was(kopiurv1.ConditionSourcePVCAvailable, 29*time.Minute)), wait, pending, kopiurv1.ReasonSourcePVCMissing, "claim apps/data", time.Minute, "",
		},
		"the source did not appear": {
			world(func(w *plan.World) { w.Source = nil }, was(kopiurv1.ConditionSourcePVCAvailable, 30*time.Minute)), fail, failed, kopiurv1.ReasonSourcePVCMissing, "did not appear", 0, plan.OpPrepare,
		},
		"a Snapshot that is tried again gets the whole time": {
			world(func(w *plan.World) { w.Source = nil }, failedIn(plan.OpPrepare), changed, was(kopiurv1.ConditionSourcePVCAvailable, time.Hour)), wait, pending, kopiurv1.ReasonSourcePVCMissing, "claim apps/data", time.Second, "",
		},
		"a source that is a block device": {
			world(blocks), plan.Start, pending, "", "", 0, "",
		},
		"a block device that could be written to": {
			world(blocks, published), fail, failed, kopiurv1.ReasonInvalidSpec, "would let the mover write to", 0, plan.OpPrepare,
		},
		"a claim published read-write beside a repository on a claim": {
			world(published, func(w *plan.World) {
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "store"}}}}
			}), wait, pending, kopiurv1.ReasonInvalidSpec, "the repository is on claim store", 0, "",
		},
		"an NFS export": {
			world(exported), plan.Start, pending, "", "", 0, "",
		},
		"an NFS export that holds the repository": {
			world(exported, func(w *plan.World) {
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/volume1/photos/backups"}}}}
			}), wait, pending, kopiurv1.ReasonInvalidSpec, "export nas.local:/volume1/photos holds the repository itself", 0, "",
		},
		"an NFS export of the server that the repository is on": {
			world(exported, func(w *plan.World) {
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/volume1/photos-backups"}}}}
			}), plan.Start, pending, "", "", 0, "",
		},
		"a selected claim that is missing": {
			world(selecting, func(w *plan.World) { w.Source = nil }), wait, pending, kopiurv1.ReasonSourcePVCMissing, "claim apps/data", 30 * time.Minute, "",
		},
		"a claim that the selector does not find": {
			world(selecting, func(w *plan.World) { w.Source.Labels = nil }), fail, failed, kopiurv1.ReasonSourceNotSelected, "claim data is not among those that SnapshotPolicy web selects", 0, plan.OpPrepare,
		},
		"a claim that the selector found when its copy was begun": {
			world(selecting, begun(), cut(true, 0), copied(corev1.ClaimBound, 0), func(w *plan.World) { w.Source.Labels = nil }), plan.Start, pending, "", "", 0, "",
		},
		"a Snapshot that names none of the selected claims": {
			world(selecting, func(w *plan.World) { w.Snapshot.Spec.Source = nil }), fail, failed, kopiurv1.ReasonInvalidSpec, "write sourceIndex: 0 and target.pvc", 0, plan.OpPrepare,
		},
		"a claim that another policy's selector finds, under the same identity": {
			world(func(w *plan.World) {
				twin := w.Policy.DeepCopy()
				twin.Name, twin.Spec.Identity = "twin", &kopiurv1.PolicyIdentity{Username: "web"}
				twin.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{}}}
				w.Others, w.Selected = []kopiurv1.SnapshotPolicy{*w.Policy, *twin}, policy.Selected{"apps/twin": {"/pvc/other", "/pvc/data"}}
			}), wait, pending, kopiurv1.ReasonIdentityCollision, "same identity web@apps:/pvc/data", 0, "",
		},
		"the output of a command": {
			world(streaming), plan.Start, pending, "", "", 0, "",
		},
		"a command in a namespace that does not allow it": {
			world(streaming, func(w *plan.World) { w.Namespace.Annotations = nil }), wait, pending, kopiurv1.ReasonStreamExecNotPermitted, "annotate it with kopiur.home-operations.com/stream-exec-movers=true", 0, "",
		},
		"a command in a namespace that allows something like it": {
			world(streaming, func(w *plan.World) {
				w.Namespace.Annotations = map[string]string{kopiurv1.AnnotationStreamExecMovers: "yes", kopiurv1.AnnotationPrivilegedMovers: "true"}
			}), wait, pending, kopiurv1.ReasonStreamExecNotPermitted, "which does not allow that", 0, "",
		},
		"a command in a namespace of which nothing is known": {
			world(streaming, func(w *plan.World) { w.Namespace = nil }), wait, pending, kopiurv1.ReasonStreamExecNotPermitted, "which does not allow that", 0, "",
		},
		"a command, and no pod to run it in": {
			world(streaming, func(w *plan.World) { w.Neighbours = w.Neighbours[1:] }), wait, pending, kopiurv1.ReasonWorkloadNotFound, "no running pod matches app=db", time.Minute, "",
		},
		"a command, and two pods to run it in": {
			world(streaming, func(w *plan.World) {
				other := w.Neighbours[0].DeepCopy()
				other.Name = "db-1"
				w.Neighbours = append(w.Neighbours, *other)
			}), wait, pending, kopiurv1.ReasonWorkloadNotFound, "2 running pods match app=db (db-0, db-1)", time.Minute, "",
		},
		"a command in a container that the pod has not": {
			world(streaming, func(w *plan.World) { w.Policy.Spec.Sources[0].Stream.WorkloadExec.Container = "sidecar" }), wait, pending, kopiurv1.ReasonWorkloadNotFound, "has no container sidecar", time.Minute, "",
		},
		"a command and a repository of a workload identity": {
			world(streaming, func(w *plan.World) {
				w.Repository.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
			}), wait, pending, kopiurv1.ReasonInvalidSpec, "needs cloud: use a repository whose credentials are in a Secret", 0, "",
		},
		"a source that holds the repository": {
			world(func(w *plan.World) {
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "data"}}}}
			}), wait, pending, kopiurv1.ReasonInvalidSpec, "it cannot be its own source", 0, "",
		},
		"privileges without consent": {
			world(func(w *plan.World) {
				w.Asked, w.Namespace = plan.AskNamespace, &metav1.PartialObjectMetadata{}
				w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
			}), wait, pending, kopiurv1.ReasonPrivilegedMoverNotPermitted, "uid 0, capability DAC_READ_SEARCH", 0, "",
		},
		"a Namespace that could not be found consents to nothing": {
			world(func(w *plan.World) {
				w.Asked = plan.AskNamespace
				w.Snapshot.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
			}), wait, pending, kopiurv1.ReasonPrivilegedMoverNotPermitted, "annotate it", 0, "",
		},
		"a ReadWriteOncePod claim in use": {
			world(func(w *plan.World) {
				w.Asked, w.Users = plan.AskUsers, []string{"app-0"}
				w.Source.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}), fail, failed, kopiurv1.ReasonPVCInUse, "pod app-0 uses it: use copyMethod Snapshot or Clone", 0, plan.OpPrepare,
		},
		"a pod of an earlier attempt": {
			world(func(w *plan.World) { w.OtherPods = []string{"old"} }), wait, pending, kopiurv1.ReasonMoverStarting, "pod old of an earlier attempt", time.Minute, "",
		},
		"all gates open": {world(), plan.Start, pending, "", "", 0, ""},
		"a free ReadWriteOncePod claim": {
			world(func(w *plan.World) {
				w.Asked = plan.AskUsers
				w.Source.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}), plan.Start, pending, "", "", 0, "",
		},
		"privileges with consent": {
			world(func(w *plan.World) {
				w.Asked = plan.AskNamespace
				w.Namespace = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}}}
				w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
			}), plan.Start, pending, "", "", 0, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := check(t, tc)
			if p.Action != plan.Start {
				assert.NotEmpty(t, p.Message, "every closed gate explains itself")
			}
			if p.Action == plan.Wait {
				for _, c := range p.Conditions[:max(0, len(p.Conditions)-1)] {
					assert.Equal(t, metav1.ConditionTrue, c.Status, "%s: only the last gate is closed", c.Type)
				}
			}
		})
	}
}

// TestQuestions: what costs a request is asked for only where the decision hangs on it.
func TestQuestions(t *testing.T) {
	t.Parallel()
	selector := func(w *plan.World) {
		w.Repository.Allowed = &kopiurv1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	}
	forget := func(w *plan.World) { w.Asked = 0 }
	for name, tc := range map[string]struct {
		w    plan.World
		want plan.Ask
	}{
		"a plain Direct backup asks for nothing":      {world(), 0},
		"labels are asked for where a selector reads": {world(selector), plan.AskNamespace},
		"consent is asked for where it is needed": {
			world(func(w *plan.World) { w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} }), plan.AskNamespace,
		},
		"users are asked for where only one may be": {
			world(func(w *plan.World) {
				w.Source.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}), plan.AskUsers,
		},
		"the volume is asked for before a copy":              {world(copying, forget), plan.AskVolume},
		"and not again once the copy is begun":               {world(begun(), forget), plan.AskVolumeSnapshot},
		"a claim that is there needs no snapshot":            {world(begun(), copied(corev1.ClaimBound, time.Minute), forget), 0},
		"one that is not bound is asked about":               {world(begun(), copied(corev1.ClaimPending, time.Minute), forget), plan.AskClaimEvent},
		"a Job that the cache does not have is asked for":    {world(told(1)), plan.AskJob},
		"nothing is asked while an earlier gate is closed":   {world(copying, forget, func(w *plan.World) { w.Repository = nil }), 0},
		"a finished Snapshot asks for nothing":               {world(recorded(kopiurv1.SnapshotSucceeded), func(w *plan.World) { w.Policy = nil }), 0},
		"one that has a copy left asks for its snapshot":     {world(begun(), forget, recorded(kopiurv1.SnapshotSucceeded)), plan.AskVolumeSnapshot},
		"but not while a pod may use the copy":               {world(begun(), forget, recorded(kopiurv1.SnapshotFailed), func(w *plan.World) { w.OtherPods = []string{"p"} }), 0},
		"a Snapshot that is being deleted asks for nothing":  {world(begun(), forget, func(w *plan.World) { w.Snapshot.DeletionTimestamp = new(metav1.NewTime(now)) }), 0},
		"the job of a clone asks about its claim in waiting": {world(begun(func(s *kopiurv1.Staged) { s.WaitForFirstConsumer = true }), copied(corev1.ClaimPending, 0), job(1, 0), pending, forget), plan.AskClaimEvent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, plan.Decide(tc.w, now).Ask)
		})
	}
}

// TestStaging follows the copy up to the mover.
func TestStaging(t *testing.T) {
	t.Parallel()
	const pendingPhase = kopiurv1.SnapshotPending
	lazy := func(s *kopiurv1.Staged) { s.WaitForFirstConsumer = true }
	noClass := func(w *plan.World) { w.Volume.SnapshotClasses = nil }
	direct := func(w *plan.World) { w.Policy.Spec.CopyMethod = kopiurv1.CopyDirect }
	pinned := func(w *plan.World) { w.Snapshot.Status.Resolved = new(plan.ResolvedOf(w.Snapshot, w.Policy)) }
	other := func(w *plan.World) {
		w.Policy.Spec.Sources[0].PVC.Name = "other"
		w.Source.Name = "other"
	}
	gone := func(w *plan.World) { w.Source = nil }
	for name, tc := range map[string]row{
		"nothing yet: the intent and the snapshot":        {world(copying), plan.Stage, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "making VolumeSnapshot one-snap", 0, ""},
		"the intent is stored, the snapshot is not there": {world(begun()), plan.Stage, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "making VolumeSnapshot", 0, ""},
		"the snapshot is not ready":                       {world(begun(), cut(false, time.Minute)), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "not ready", 9 * time.Minute, ""},
		"the snapshot is ready":                           {world(begun(), cut(true, time.Minute)), plan.Stage, pendingPhase, kopiurv1.ReasonWaitingForStagedPVCBind, "making the staged claim", 0, ""},
		"the claim is not bound: no Job":                  {world(begun(), cut(true, time.Minute), copied(corev1.ClaimPending, 0)), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForStagedPVCBind, "not bound", 30 * time.Second, ""},
		"the claim is bound":                              {world(begun(), cut(true, time.Minute), copied(corev1.ClaimBound, 0)), plan.Start, pendingPhase, "", "", 0, ""},
		"the claim waits for the mover's pod":             {world(begun(lazy), cut(true, time.Minute), copied(corev1.ClaimPending, 0)), plan.Start, pendingPhase, "", "", 0, ""},
		"the snapshot was never ready":                    {world(begun(), cut(false, time.Hour)), plan.Fail, kopiurv1.SnapshotFailed, kopiurv1.ReasonStagingTimedOut, "gave up after 10m0s", 0, plan.OpStage},
		"no class: a wait that looks again":               {world(copying, noClass), plan.Wait, pendingPhase, kopiurv1.ReasonNoVolumeSnapshotClass, "copyMethod: Direct", time.Minute, ""},
		"no class up to the deadline":                     {world(copying, noClass, was(kopiurv1.ConditionSourceStaged, 10*time.Minute)), plan.Fail, kopiurv1.SnapshotFailed, kopiurv1.ReasonNoVolumeSnapshotClass, "copyMethod: Direct", 0, plan.OpStage},
		"no class and no deadline": {
			world(copying, noClass, was(kopiurv1.ConditionSourceStaged, 1000*time.Hour), func(w *plan.World) { w.Policy.Spec.Staging = &kopiurv1.Staging{Timeout: "0"} }),
			plan.Wait, pendingPhase, kopiurv1.ReasonNoVolumeSnapshotClass, "", time.Minute, "",
		},
		"the policy turned to Direct: the copy goes first": {world(begun(), cut(true, 0), copied(corev1.ClaimBound, 0), direct), plan.Unstage, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "being removed", 0, ""},
		"the source went after it was copied":              {world(begun(), cut(true, time.Minute), copied(corev1.ClaimBound, 0), gone), plan.Start, pendingPhase, "", "", 0, ""},
		"a copy of the same claim is used":                 {world(begun(), pinned, cut(true, 0), copied(corev1.ClaimBound, 0)), plan.Start, pendingPhase, "", "", 0, ""},
		"the policy turned to another claim: its data is not filed as that one's": {
			world(begun(), pinned, cut(true, 0), copied(corev1.ClaimBound, 0), other), plan.Unstage, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "being removed", 0, "",
		},
		"and that claim is not there": {
			world(begun(), pinned, cut(true, 0), copied(corev1.ClaimBound, 0), other, gone), plan.Wait, pendingPhase, kopiurv1.ReasonSourcePVCMissing, "claim apps/other", 30 * time.Minute, "",
		},
		"the policy turned to Direct, and the source is gone": {
			world(begun(), cut(true, 0), copied(corev1.ClaimBound, 0), direct, gone), plan.Wait, pendingPhase, kopiurv1.ReasonSourcePVCMissing, "claim apps/data", 30 * time.Minute, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := check(t, tc)
			if p.Action != plan.Start {
				return
			}
			for _, v := range p.Job.Spec.Template.Spec.Volumes {
				if c := v.PersistentVolumeClaim; c != nil {
					assert.Equal(t, "one-src", c.ClaimName, "a copy is read, never the live claim (A-1)")
					assert.True(t, c.ReadOnly)
				}
			}
		})
	}
}

func TestPinKeepsTheTimeout(t *testing.T) {
	t.Parallel()
	w := world(copying, func(w *plan.World) { w.Policy.Spec.Staging = &kopiurv1.Staging{Timeout: "0"} })
	p := plan.Decide(w, now)
	require.NotNil(t, p.Choice)
	got := plan.Pin(w.Snapshot, w.Policy, *p.Choice)
	assert.Equal(t, kopiurv1.Staged{CopyMethod: kopiurv1.CopySnapshot, VolumeSnapshotName: "one-snap", PVCName: "one-src", StorageClassName: "fast"}, got)
	assert.True(t, strings.HasSuffix(got.PVCName, "-src"))
}

// TestASelectedClaim: a selector stands for the claim that the Snapshot names, in all that the mover is told.
func TestASelectedClaim(t *testing.T) {
	t.Parallel()
	w := world(selecting)
	p := plan.Decide(w, now)
	require.Equal(t, plan.Start, p.Action)
	assert.Equal(t, work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}, specOf(t, p.Job).Operation.Snapshot.Identity)
	assert.Equal(t, []kopiurv1.ResolvedSource{{PVC: "apps/data", SourcePath: "/pvc/data"}}, plan.ResolvedOf(w.Snapshot, w.Policy).Sources)

	w = world(selecting, func(w *plan.World) {
		w.Policy.Spec.Sources[0].SourcePathStrategy = kopiurv1.SourcePathPVCNamespacedName
	})
	assert.Equal(t, "/pvc/apps/data", specOf(t, plan.Decide(w, now).Job).Operation.Snapshot.Identity.Path)
}

// TestADevice: a claim without a file system is read as a device, live or as its copy, and never writable.
func TestADevice(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		w     plan.World
		claim string
	}{
		"live": {world(blocks), "data"},
		"live, whatever readOnly says": {world(blocks, func(w *plan.World) {
			w.Policy.Spec.Sources[0].ReadOnly, w.Policy.Spec.Sources[0].AcknowledgeLiveMutation = new(false), true
		}), "data"},
		"its copy": {world(blocks, begun(), cut(true, 0), copied(corev1.ClaimBound, 0)), "one-src"},
		"its copy, which outlived its source": {world(blocks, begun(), cut(true, 0), copied(corev1.ClaimBound, 0), func(w *plan.World) {
			w.StagedClaim.Spec.VolumeMode, w.Source = w.Source.Spec.VolumeMode, nil
		}), "one-src"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Equal(t, plan.Start, p.Action, p.Message)
			op := specOf(t, p.Job).Operation.Snapshot
			assert.Empty(t, op.Path)
			assert.Equal(t, work.SourceDevice, op.DevicePath)
			c := p.Job.Spec.Template.Spec.Containers[0]
			require.Len(t, c.VolumeDevices, 1)
			assert.Equal(t, work.SourceDevice, c.VolumeDevices[0].DevicePath)
			found := false
			for _, v := range p.Job.Spec.Template.Spec.Volumes {
				if v.Name == c.VolumeDevices[0].Name {
					found = true
					assert.Equal(t, corev1.PersistentVolumeClaimVolumeSource{ClaimName: tc.claim, ReadOnly: true}, *v.PersistentVolumeClaim)
				}
			}
			assert.True(t, found)
		})
	}
}

// TestPublishedReadWrite: the volume is attached writable and mounted read-only, and the mover looks for itself.
func TestPublishedReadWrite(t *testing.T) {
	t.Parallel()
	w := world(published, func(w *plan.World) {
		w.Snapshot.Spec.Mover = &kopiurv1.MoverSpec{PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(1000))}}
	})
	p := plan.Decide(w, now)
	require.Equal(t, plan.Start, p.Action, p.Message)
	assert.True(t, specOf(t, p.Job).Operation.Snapshot.MustBeReadOnly)
	pod := p.Job.Spec.Template.Spec
	assert.Nil(t, pod.SecurityContext.FSGroup, "the kubelet would apply it to the application's files")
	assert.Equal(t, []int64{1000}, pod.SecurityContext.SupplementalGroups, "and the mover may read by it all the same")
	assert.Equal(t, new(int64(1000)), p.Recorded.FSGroup, "which a restore needs as well")
	for _, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil {
			assert.False(t, v.PersistentVolumeClaim.ReadOnly)
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.Name == "source" {
			assert.True(t, m.ReadOnly)
		}
	}
}

// TestAnExport: an NFS export is mounted read-only where it is filed, and nothing asks for a claim or makes a copy.
func TestAnExport(t *testing.T) {
	t.Parallel()
	w := world(exported, func(w *plan.World) { w.Policy.Spec.CopyMethod = kopiurv1.CopySnapshot })
	p := plan.Decide(w, now)
	require.Equal(t, plan.Start, p.Action, p.Message)
	assert.Equal(t, "/volume1/photos", specOf(t, p.Job).Operation.Snapshot.Path)
	var nfs *corev1.NFSVolumeSource
	for _, v := range p.Job.Spec.Template.Spec.Volumes {
		if v.NFS != nil {
			nfs = v.NFS
		}
	}
	assert.Equal(t, &corev1.NFSVolumeSource{Server: "nas.local", Path: "/volume1/photos", ReadOnly: true}, nfs)
	assert.Equal(t, []kopiurv1.ResolvedSource{{SourcePath: "/volume1/photos"}}, plan.ResolvedOf(w.Snapshot, w.Policy).Sources)

	w.Policy.Spec.Sources[0].NFS.Path = "/"
	spec := specOf(t, plan.Decide(w, now).Job)
	assert.Equal(t, work.SourceDir, spec.Operation.Snapshot.Path, "the whole server is mounted at a folder of its own")
	assert.Equal(t, "/", spec.Operation.Snapshot.Identity.Path)
}
