// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress shows how far backups have come: a bar on a terminal, plain lines anywhere else.
package progress

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// Text says in one line where a Snapshot is.
func Text(s *kopiurv1.Snapshot) string {
	phase := s.Status.Phase
	if phase == "" {
		phase = kopiurv1.SnapshotPending
	}
	if phase == kopiurv1.SnapshotRunning {
		if p := s.Status.Progress; p != nil {
			return string(phase) + ": " + amount(p)
		}
		return string(phase)
	}
	if ready := meta.FindStatusCondition(s.Status.Conditions, kopiurv1.ConditionReady); ready != nil && ready.Message != "" {
		return string(phase) + ": " + strings.Join(strings.Fields(ready.Message), " ")
	}
	return string(phase)
}

// amount is what was done of what there is, with rate and time to go as far as they are known.
func amount(p *kopiurv1.Progress) string {
	var parts []string
	if share, known := share(p); known {
		parts = append(parts, fmt.Sprintf("%d %% of %s", share, printer.Bytes(p.BytesTotal)))
	} else {
		parts = append(parts, printer.Bytes(p.BytesProcessed))
	}
	files := fmt.Sprintf("%d files", p.FilesProcessed)
	if p.FilesTotal > 0 {
		files = fmt.Sprintf("%d of %d files", min(p.FilesProcessed, p.FilesTotal), p.FilesTotal)
	}
	parts = append(parts, files)
	if p.BytesPerSecond > 0 {
		parts = append(parts, printer.Bytes(p.BytesPerSecond)+"/s")
	}
	if p.ETASeconds > 0 {
		parts = append(parts, duration.HumanDuration(time.Duration(p.ETASeconds)*time.Second)+" to go")
	}
	return strings.Join(parts, ", ")
}

// share is how much is done in percent. The total is an estimate: what is not over never says 100.
func share(p *kopiurv1.Progress) (int64, bool) {
	if p.BytesTotal <= 0 {
		return 0, false
	}
	return min(99, int64(float64(max(0, p.BytesProcessed))/float64(p.BytesTotal)*100)), true
}

// widest is how long a bar is at most, and narrowest what is not worth drawing.
const widest, narrowest = 30, 8

// Bar is the same for a terminal of some width: with a bar where the total is known and there is room for one, and never
// wider than the terminal, because a line that wraps cannot be drawn over.
func Bar(name string, s *kopiurv1.Snapshot, width int) string {
	p := s.Status.Progress
	text := name + "  " + Text(s)
	if p != nil && s.Status.Phase == kopiurv1.SnapshotRunning {
		if share, known := share(p); known {
			rest := amount(p)
			room := min(widest, width-1-len(name)-len(rest)-len("  []  "))
			if room >= narrowest {
				done := int(share) * room / 100
				text = fmt.Sprintf("%s  [%s%s]  %s", name, strings.Repeat("=", done), strings.Repeat(" ", room-done), rest)
			} else {
				text = name + "  " + strings.TrimSpace(rest)
			}
		}
	}
	return cut(text, width-1)
}

func cut(text string, width int) string {
	runes := []rune(text)
	if width < 1 || len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}
