// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// TestWhatIsDeletedInOneTurn: where the newest of a source may not be there, nothing of that source goes, and the event
// names what really went.
func TestWhatIsDeletedInOneTurn(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 3, 5, hour, 0, 0, 0, time.UTC) }
	verdict := func(name, bucket string, hour int, keep bool) retention.Verdict {
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: kopiurv1.SnapshotStatus{Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: name}}}
		return retention.Verdict{Snapshot: s, Bucket: bucket, End: at(hour), Keep: keep}
	}
	all := []retention.Verdict{
		verdict("a3", "a", 9, true), verdict("a2", "a", 3, false), verdict("a1", "a", 1, false),
		verdict("b3", "b", 8, true), verdict("b2", "b", 4, false), verdict("b1", "b", 2, false),
	}
	both := map[string]bool{"a": true, "b": true}
	for name, tc := range map[string]struct {
		there map[string]bool
		limit int
		want  []string
	}{
		"the oldest first, of whatever source":       {both, 9, []string{"a1", "b1", "a2", "b2"}},
		"no more than may go at a time":              {both, 3, []string{"a1", "b1", "a2"}},
		"none of a source whose newest may be gone":  {map[string]bool{"b": true}, 9, []string{"b1", "b2"}},
		"such a source takes nobody's place":         {map[string]bool{"b": true}, 1, []string{"b1"}},
		"nothing where nobody knows of any of these": {nil, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range toDelete(all, tc.there, tc.limit) {
				got = append(got, s.Name)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}
