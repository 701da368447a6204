// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestDescribeTellsWhatToDo: kubectl describe of the object that somebody looks at says what is wrong and what to do, without
// another look anywhere.
func TestDescribeTellsWhatToDo(t *testing.T) {
	t.Parallel()
	snapshot := func(l *lab) client.Object { return l.snapshot }
	policy := func(l *lab) client.Object { return l.policy }
	repository := func(l *lab) client.Object { return l.repository }
	denied := func(l *lab) {
		cluster := l.offsite(true)
		l.Change(cluster, func() { cluster.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{List: []string{"another"}} })
	}
	refused := func(l *lab) {
		l.Mover(func(c testenv.Call) testenv.Play {
			return testenv.Fail(c, work.CodeAuthFailure, "the password does not open the repository")
		})
		l.create()
	}
	for name, tc := range map[string]struct {
		// make creates all there is to it, in a state that nothing but somebody ends.
		make func(*lab)
		// of is what somebody describes.
		of   func(*lab) client.Object
		says []string
	}{
		"a gate that is closed": {
			make: func(l *lab) { l.policy.Spec.Suspend = true; l.create() }, of: snapshot,
			says: []string{kopiurv1.ReasonSuspended, "SnapshotPolicy web is suspended: set its spec.suspend to false to go on"},
		},
		"a backup that failed": {
			make: func(l *lab) {
				l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
					return testenv.Fail(c, work.CodeMissingCredentials, "key KOPIA_PASSWORD is missing from the password Secret")
				})
				l.create()
			}, of: snapshot,
			says: []string{kopiurv1.ReasonSnapshotFailed, kopiurv1.ReasonMissingCredentialsSecret, "key KOPIA_PASSWORD is missing from the password Secret"},
		},
		"a repository that is not tried again": {
			make: refused, of: repository,
			says: []string{"phase: Failed", "the password in Secret password, key KOPIA_PASSWORD, does not open the repository", "correct the Secret"},
		},
		"a backup that waits for it": {make: refused, of: snapshot, says: []string{kopiurv1.ReasonRepositoryNotReady, "nas is Failed"}},
		"a policy of it":             {make: refused, of: policy, says: []string{kopiurv1.ReasonRepositoryNotReady, "nas is Failed"}},
		"a namespace that may not": {
			make: denied, of: snapshot,
			says: []string{kopiurv1.ReasonNamespaceNotAllowed, "does not allow namespace", "its owner adds it to spec.allowedNamespaces"},
		},
		"a policy in a namespace that may not": {
			make: denied, of: policy,
			says: []string{kopiurv1.ReasonNamespaceNotAllowed, "its owner adds the namespace to spec.allowedNamespaces"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			tc.make(l)
			l.StartController()
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				told := strings.Join(strings.Fields(l.Describe(c, tc.of(l))), " ") // where a line was broken does not matter
				for _, part := range tc.says {
					assert.Contains(c, told, part)
				}
			}, testenv.Wait, testenv.Tick)
		})
	}
}
