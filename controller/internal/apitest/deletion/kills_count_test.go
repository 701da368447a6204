// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package deletion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestWritesOfDeletions fails where a course takes more writes than kill points are tried for.
func TestWritesOfDeletions(t *testing.T) {
	t.Parallel()
	for name, tc := range courses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.repository.Spec.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: &tc.threshold}
			if tc.cascade {
				l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
			}
			l.base()
			list := l.stored(3)
			l.onDelete(func(c testenv.Call, k int) testenv.Play {
				if k <= tc.fails {
					return testenv.Fail(c, work.CodeAccessDenied, "no")
				}
				return testenv.Succeed(c)
			})
			l.run().Stop()
			kill := l.KillAfter(1000)
			l.StartController(l.clocks)
			if tc.cascade {
				require.NoError(t, l.Client.Delete(t.Context(), l.policy))
			} else {
				l.remove(list...)
			}
			l.drive(tc, list, func() bool { return false })
			l.gone(list...)
			t.Logf("%d writes: %v", len(kill.Writes()), kill.Writes())
			assert.LessOrEqual(t, len(kill.Writes()), tc.writes)
		})
	}
}
