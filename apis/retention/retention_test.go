// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func policy(r *kopiurv1.Retention) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "apps"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Retention = r
	return p
}

func keep(latest, hourly, daily, weekly, monthly, annual int32) *kopiurv1.Retention {
	return &kopiurv1.Retention{KeepLatest: &latest, KeepHourly: &hourly, KeepDaily: &daily, KeepWeekly: &weekly, KeepMonthly: &monthly, KeepAnnual: &annual}
}

func stored(name string, end time.Time, edit ...func(*kopiurv1.Snapshot)) kopiurv1.Snapshot {
	s := kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps"}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	s.Status.Phase, s.Status.Origin = kopiurv1.SnapshotSucceeded, kopiurv1.OriginScheduled
	s.Status.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: "k" + name, Identity: kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}}
	s.Status.Timing = &kopiurv1.Timing{EndTime: end.Format(time.RFC3339)}
	s.Status.Resolved = &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Name: "nas"}}
	for _, f := range edit {
		f(&s)
	}
	return s
}

func every(start string, step time.Duration, n int) []kopiurv1.Snapshot {
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		panic(err)
	}
	var out []kopiurv1.Snapshot
	for i := range n {
		end := at.Add(time.Duration(i) * step)
		out = append(out, stored(end.UTC().Format("nightly-0102-1504"), end))
	}
	return out
}

// TestGolden: decisions that people can read. Look at the files under testdata.
func TestGolden(t *testing.T) {
	t.Parallel()
	mixed := every("2026-03-02T02:10:00Z", 24*time.Hour, 6)
	mixed[0].Spec.Pin = true
	mixed[1].Status.Phase = kopiurv1.SnapshotFailed // complete ones alone count (D-3)
	mixed[2].Status.Origin = kopiurv1.OriginAdopted
	mixed[3].Status.Snapshot.Identity.SourcePath = "/pvc/more"
	mixed[4].Status.Resolved.Repository = &kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	for name, tc := range map[string]struct {
		retention *kopiurv1.Retention
		snapshots []kopiurv1.Snapshot
	}{
		"hours-of-two-days":       {keep(2, 12, 2, 0, 0, 0), every("2026-03-04T20:00:05Z", time.Hour, 40)},
		"nights-of-a-quarter":     {keep(3, 0, 7, 4, 3, 1), every("2026-01-01T02:00:00Z", 24*time.Hour, 90)},
		"turn-of-the-year":        {keep(0, 0, 0, 3, 2, 2), every("2025-12-20T23:59:59Z", 24*time.Hour, 20)},
		"several-in-one-hour":     {keep(0, 3, 1, 0, 0, 0), every("2026-03-05T22:30:00Z", 10*time.Minute, 14)},
		"without-rules":           {nil, every("2026-03-05T02:00:00Z", 24*time.Hour, 3)},
		"what-is-no-one-s-to-end": {keep(1, 0, 0, 0, 0, 0), mixed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := retention.Text(retention.Of(policy(tc.retention), tc.snapshots))
			file := filepath.Join("testdata", name+".golden.txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(filepath.Clean(file))
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "go test ./retention -update")
		})
	}
}

// TestWhatCounts: of an older and a newer Snapshot with keepLatest 1, the older goes where both count.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		older, newer func(*kopiurv1.Snapshot)
		goes         bool
	}{
		"a newer success": {goes: true},
		"a newer failure": {newer: func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotFailed }},
		"a newer incomplete one (D-3)": {newer: func(s *kopiurv1.Snapshot) {
			s.Status.Phase, s.Status.Failure = kopiurv1.SnapshotFailed, &kopiurv1.Failure{}
		}},
		"a newer one that runs":           {newer: func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotRunning }},
		"a newer one that stored nothing": {newer: func(s *kopiurv1.Snapshot) { s.Status.Phase, s.Status.Snapshot = kopiurv1.SnapshotUnchanged, nil }},
		"a newer one that is going":       {newer: func(s *kopiurv1.Snapshot) { s.DeletionTimestamp = new(metav1.Now()) }},
		"a newer find": {newer: func(s *kopiurv1.Snapshot) {
			s.Status.Phase, s.Status.Origin = kopiurv1.SnapshotDiscovered, kopiurv1.OriginDiscovered
		}},
		"a newer copy":                     {newer: func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginReplicated }},
		"a newer one of another policy":    {newer: func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Name = "db" }},
		"a newer one of another namespace": {newer: func(s *kopiurv1.Snapshot) { s.Namespace = "else" }},
		"a newer one of another source":    {newer: func(s *kopiurv1.Snapshot) { s.Status.Snapshot.Identity.SourcePath = "/pvc/x" }},
		"a newer one in another repository": {newer: func(s *kopiurv1.Snapshot) {
			s.Status.Resolved.Repository = &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository}
		}},
		"a newer one without a time":                    {newer: func(s *kopiurv1.Snapshot) { s.Status.Timing.EndTime = "yesterday" }},
		"an older one that is pinned":                   {older: func(s *kopiurv1.Snapshot) { s.Spec.Pin = true }},
		"an older one that is pinned still":             {older: func(s *kopiurv1.Snapshot) { s.Status.Pinned = new(true) }},
		"an older failure is not retention's":           {older: func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotFailed }},
		"an older one that was adopted (D-5)":           {older: func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginAdopted }, goes: true},
		"an older one made by hand":                     {older: func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginManual }, goes: true},
		"a newer one that is adopted":                   {newer: func(s *kopiurv1.Snapshot) { s.Status.Origin = kopiurv1.OriginAdopted }, goes: true},
		"one that does not say where it lies":           {newer: func(s *kopiurv1.Snapshot) { s.Status.Resolved = nil }, goes: true},
		"a newer one with a clock in another time zone": {newer: func(s *kopiurv1.Snapshot) { s.Status.Timing.EndTime = "2026-03-05T04:00:00+02:00" }, older: func(s *kopiurv1.Snapshot) { s.Status.Timing.EndTime = "2026-03-05T01:59:59Z" }, goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := every("2026-03-04T02:00:00Z", 24*time.Hour, 2)
			list[0].Name, list[1].Name = "older", "newer"
			for i, f := range []func(*kopiurv1.Snapshot){tc.older, tc.newer} {
				if f != nil {
					f(&list[i])
				}
			}
			var gone []string
			for _, s := range retention.Doomed(retention.Of(policy(keep(1, 0, 0, 0, 0, 0)), list)) {
				gone = append(gone, s.Name)
			}
			if tc.goes {
				assert.Equal(t, []string{"older"}, gone)
			} else {
				assert.Empty(t, gone)
			}
		})
	}
}

// TestDoomedAreOldestFirst over all buckets.
func TestDoomedAreOldestFirst(t *testing.T) {
	t.Parallel()
	list := every("2026-03-01T02:00:00Z", 24*time.Hour, 8)
	for i := range list {
		list[i].Status.Snapshot.Identity.SourcePath = fmt.Sprintf("/pvc/%d", i%2)
	}
	var gone []string
	for _, s := range retention.Doomed(retention.Of(policy(keep(1, 0, 0, 0, 0, 0)), list)) {
		gone = append(gone, strings.TrimPrefix(s.Name, "nightly-"))
	}
	assert.Equal(t, []string{"0301-0200", "0302-0200", "0303-0200", "0304-0200", "0305-0200", "0306-0200"}, gone)
}
