// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// owned is a volume as an application left it.
type owned struct {
	// app is who filled it; root makes files of many owners.
	app framework.AppOptions
	// backup is whom its mover runs as.
	backup *kopiurv1.MoverSpec
	// kept are the movers, beside root, under which every owner comes back.
	kept []string
}

// F-1, F-2, F-5, F-7: TestOwnershipMatrix restores files of an application's own uid, of its uid and a group that the kubelet
// gave the volume to, and of root and others, each by a mover that is nobody, one that runs as the backup ran, and one that is
// root. The bytes always come back. Either every owner, mode and time does too, or the Restore counts what it could not set;
// for all that are not root that is the top folder at least.
func TestOwnershipMatrix(t *testing.T) {
	t.Parallel()
	const nobody, asBackup, root = "nobody", "as-the-backup", "root"
	movers := map[string]*kopiurv1.MoverSpec{
		nobody:   nil,
		asBackup: {InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}},
		root:     framework.PrivilegedMover(),
	}
	uid, group := int64(1000), int64(2000)
	inGroup := framework.UIDMover(uid)
	inGroup.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	volumes := map[string]owned{
		"own":     {framework.AppOptions{UID: &uid}, framework.UIDMover(uid), []string{asBackup}},
		"grouped": {framework.AppOptions{UID: &uid, FSGroup: &group}, inGroup, []string{asBackup}},
		"many":    {framework.AppOptions{}, framework.PrivilegedMover(), nil},
	}

	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.FilesystemRepository(t, ns)
	var claims []string
	snapshots, restores := map[string]*kopiurv1.Snapshot{}, map[string]*kopiurv1.Restore{}
	for name, v := range volumes {
		e.Create(t, framework.PVC(ns, name, framework.ClassImmediate, "1Gi"))
		e.RunApp(t, ns, name, v.app, "fill", "--seed", "21", "--files", "60", "--sparse", "0", "/data/mine")
		p := framework.Policy(ns, name, name, kopiurv1.CopySnapshot)
		p.Spec.Mover = v.backup
		snapshots[name] = framework.Snapshot(ns, name, name)
		e.Create(t, p, snapshots[name])
		claims = append(claims, name)
	}
	for name := range volumes {
		e.WaitReady(t, snapshots[name])
		for who, mover := range movers {
			claim := name + "-by-" + who
			r := framework.RestoreInto(ns, claim, name, "")
			r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: claim, Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
			r.Spec.Mover = mover
			e.Create(t, r)
			restores[claim] = r
			claims = append(claims, claim)
		}
	}
	for _, r := range restores {
		e.WaitReady(t, r)
	}
	assert.Equal(t, &uid, snapshots["own"].Status.Recorded.UID)

	lists := e.Lists(t, ns, claims...)
	for name, v := range volumes {
		before := mine(lists[name])
		require.Greater(t, len(before), 100, name)
		for who := range movers {
			claim := name + "-by-" + who
			after, r := mine(lists[claim]), restores[claim]
			assert.Equal(t, framework.Contents(before), framework.Contents(after), "%s: every byte", claim)
			applied := framework.Condition(r, kopiurv1.ConditionOwnershipApplied)
			require.NotNil(t, r.Status.Ownership, claim)
			if who == root {
				assert.Equal(t, before, after, "%s: every owner, mode and time", claim)
				assert.Equal(t, metav1.ConditionTrue, applied.Status, claim)
				assert.Zero(t, r.Status.Ownership.Failed, claim)
				continue
			}
			assert.Equal(t, metav1.ConditionFalse, applied.Status, claim)
			assert.Equal(t, kopiurv1.ReasonOwnershipIncomplete, applied.Reason, claim)
			require.NotEmpty(t, r.Status.Ownership.Paths, claim)
			if slices.Contains(v.kept, who) {
				assert.Equal(t, before, after, "%s: every owner, mode and time", claim)
				assert.Equal(t, int64(1), r.Status.Ownership.Failed, claim)
				assert.Equal(t, ".", r.Status.Ownership.Paths[0].Path, "the top folder is whose volume it is")
				continue
			}
			assert.NotEqual(t, before, after, claim)
			assert.Greater(t, r.Status.Ownership.Failed, int64(1), claim)
		}
	}
}

// mine leaves out the top folder, which the storage driver makes and the kubelet gives to a mover's group.
func mine(entries []framework.Entry) []framework.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e framework.Entry) bool { return !strings.HasPrefix(e.Path, "mine") })
}
