// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress shows how far backups and restores have come: a bar on a terminal, plain lines anywhere else.
package progress

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// State is where an object is.
type State struct {
	Name, Phase string
	// Moving is set while a mover works, and Progress what it says.
	Moving   bool
	Progress *kopiurv1.Progress
	// Message of what it waits for, or what became of it.
	Message string
}

// OfSnapshot is the state of a Snapshot.
func OfSnapshot(s *kopiurv1.Snapshot) State {
	phase := s.Status.Phase
	if phase == "" {
		phase = kopiurv1.SnapshotPending
	}
	return State{
		Name: s.Name, Phase: string(phase), Moving: phase == kopiurv1.SnapshotRunning, Progress: s.Status.Progress,
		Message: ready(s.Status.Conditions),
	}
}

// OfRestore is the state of a Restore.
func OfRestore(r *kopiurv1.Restore) State {
	phase := r.Status.Phase
	if phase == "" {
		phase = kopiurv1.RestorePending
	}
	out := State{
		Name: r.Name, Phase: string(phase), Moving: phase == kopiurv1.RestoreRestoring, Message: ready(r.Status.Conditions),
	}
	if p := r.Status.Progress; p != nil {
		out.Progress = &p.Progress
	}
	return out
}

func ready(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, kopiurv1.ConditionReady); c != nil {
		return strings.Join(strings.Fields(c.Message), " ")
	}
	return ""
}

// Text says in one line where an object is.
func Text(s State) string {
	switch {
	case s.Moving && s.Progress != nil:
		return s.Phase + ": " + amount(s.Progress)
	case !s.Moving && s.Message != "":
		return s.Phase + ": " + s.Message
	default:
		return s.Phase
	}
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
func Bar(s State, width int) string {
	text := s.Name + "  " + Text(s)
	if p := s.Progress; p != nil && s.Moving {
		if share, known := share(p); known {
			rest := amount(p)
			room := min(widest, width-1-len(s.Name)-len(rest)-len("  []  "))
			if room >= narrowest {
				done := int(share) * room / 100
				text = fmt.Sprintf("%s  [%s%s]  %s", s.Name, strings.Repeat("=", done), strings.Repeat(" ", room-done), rest)
			} else {
				text = s.Name + "  " + strings.TrimSpace(rest)
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
