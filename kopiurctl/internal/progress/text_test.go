// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
)

func running(p *kopiurv1.Progress) *kopiurv1.Snapshot {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "data-1"}}
	s.Status.Phase, s.Status.Progress = kopiurv1.SnapshotRunning, p
	return s
}

func TestText(t *testing.T) {
	t.Parallel()
	waits := &kopiurv1.Snapshot{}
	waits.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Message: "waits for\nthe repository"}}
	for want, s := range map[string]*kopiurv1.Snapshot{
		"Pending":                                {},
		"Pending: waits for the repository":      waits,
		"Running":                                running(nil),
		"Running: 1.0 KiB, 3 files":              running(&kopiurv1.Progress{BytesProcessed: 1024, FilesProcessed: 3}),
		"Running: 25 % of 4.0 KiB, 3 files":      running(&kopiurv1.Progress{BytesProcessed: 1024, BytesTotal: 4096, FilesProcessed: 3}),
		"Running: 99 % of 1.0 KiB, 4 of 4 files": running(&kopiurv1.Progress{BytesProcessed: 4096, BytesTotal: 1024, FilesProcessed: 9, FilesTotal: 4}),
		"Running: 0 % of 1.0 KiB, 0 files, 2.0 KiB/s, 5m to go": running(&kopiurv1.Progress{
			BytesProcessed: -1, BytesTotal: 1024, BytesPerSecond: 2048, ETASeconds: 300,
		}),
	} {
		assert.Equal(t, want, progress.Text(progress.OfSnapshot(s)))
	}
}

// The line is never as wide as the terminal, or it could not be drawn over.
func TestBarFits(t *testing.T) {
	t.Parallel()
	s := running(&kopiurv1.Progress{BytesProcessed: 1 << 30, BytesTotal: 2 << 30, FilesProcessed: 900, FilesTotal: 1204, BytesPerSecond: 84 << 20, ETASeconds: 12})
	for width, want := range map[int]string{
		120: "data-1  [===============               ]  50 % of 2.0 GiB, 900 of 1204 files, 84.0 MiB/s, 12s to go",
		80:  "data-1  [=====     ]  50 % of 2.0 GiB, 900 of 1204 files, 84.0 MiB/s, 12s to go",
		76:  "data-1  50 % of 2.0 GiB, 900 of 1204 files, 84.0 MiB/s, 12s to go",
		40:  "data-1  50 % of 2.0 GiB, 900 of 1204 f…",
		12:  "data-1  50…",
	} {
		assert.Equal(t, want, progress.Bar(progress.OfSnapshot(s), width))
		assert.Less(t, len([]rune(progress.Bar(progress.OfSnapshot(s), width))), width)
	}
}

func TestDisplayKeepsTheBarBelowWhatIsSaid(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	d := progress.New(&b, func() int { return 60 })
	s := running(&kopiurv1.Progress{BytesProcessed: 1024})
	d.Show(progress.OfSnapshot(s))
	d.Show(progress.OfSnapshot(s))
	d.Say("a log line\x1b[2J")
	d.Close()
	const bar = "data-1  Running: 1.0 KiB, 0 files"
	assert.Equal(t, "<"+bar+"<"+"a log line^[[2J\n<"+bar+"<", strings.ReplaceAll(b.String(), "\r\x1b[K", "<"), "the same is not drawn twice")
}

func TestTextOfRestores(t *testing.T) {
	t.Parallel()
	restoring := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}}
	restoring.Status.Phase = kopiurv1.RestoreRestoring
	restoring.Status.Progress = &kopiurv1.RestoreProgress{Progress: kopiurv1.Progress{BytesProcessed: 1024, BytesTotal: 4096, FilesProcessed: 3}}
	waits := &kopiurv1.Restore{}
	waits.Status.Phase = kopiurv1.RestoreResolving
	waits.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Message: "asks the repository"}}
	for want, r := range map[string]*kopiurv1.Restore{
		"Pending":                             {},
		"Resolving: asks the repository":      waits,
		"Restoring: 25 % of 4.0 KiB, 3 files": restoring,
	} {
		assert.Equal(t, want, progress.Text(progress.OfRestore(r)))
	}
	assert.Equal(t, "back  [=======                       ]  25 % of 4.0 KiB, 3 files", progress.Bar(progress.OfRestore(restoring), 120))
}
