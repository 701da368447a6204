// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"sync"
	"time"

	"github.com/kopiur/kopiur/apis/work"
)

const (
	// resultReserve is what the last line, the result, always finds free.
	resultReserve = 16 << 10
	// logReserve is what pages leave to the log.
	logReserve = 256 << 10
	// maxLogBytes bounds one log line.
	maxLogBytes = 2 << 10
	// maxRepeats is how often the same log line is written: a store that fails says the same thing a thousand times.
	maxRepeats = 20
	// maxDistinct bounds the memory of what was said.
	maxDistinct = 1000
)

// Stream writes events as JSON lines. It is safe for concurrent use.
type Stream struct {
	now    func() time.Time
	redact *Redactor

	mu   sync.Mutex
	w    io.Writer
	left int
	full bool
	seen map[string]int
}

// NewStream returns a stream that writes at most work.MaxStreamBytes to w.
func NewStream(w io.Writer, now func() time.Time, redact *Redactor) *Stream {
	return &Stream{w: w, now: now, redact: redact, left: work.MaxStreamBytes - resultReserve, seen: map[string]int{}}
}

// Log writes one log line.
func (s *Stream) Log(level, message string) {
	message = work.Clip(s.redact.Text(message), maxLogBytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < maxDistinct || s.seen[message] > 0 {
		s.seen[message]++
	}
	switch n := s.seen[message]; {
	case n > maxRepeats:
		return
	case n == maxRepeats:
		message += " (further ones like it are left out)"
	}
	s.write(work.Event{Type: work.EventLog, Level: level, Message: message})
}

// Progress writes how far the work has come.
func (s *Stream) Progress(p work.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(work.Event{Type: work.EventProgress, Progress: &p})
}

// Page writes one part of a long answer. It reports false when there is no room for it: nothing was written then, and
// another mover has to go on from here.
func (s *Stream) Page(p work.Page) bool {
	p = s.redact.Page(p)
	e := work.Event{Type: work.EventPage, Time: s.now().UTC().Truncate(time.Millisecond), Page: &p}
	b, err := work.EncodeEvent(e)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full || len(b) > s.left-logReserve {
		return false
	}
	s.write(e)
	return true
}

// Result writes the last line. It has room also when everything else had to be left out.
func (s *Stream) Result(r work.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left += resultReserve
	s.full = false
	r.APIVersion = work.APIVersion
	s.write(work.Event{Type: work.EventResult, Result: &r})
}

func (s *Stream) write(e work.Event) {
	if s.full {
		return
	}
	e.Time = s.now().UTC().Truncate(time.Millisecond)
	b, err := work.EncodeEvent(e)
	if err != nil {
		return // a value of ours that JSON cannot hold does not exist
	}
	if len(b) > s.left {
		s.full = true
		if e.Type == work.EventResult {
			return
		}
		b, err = work.EncodeEvent(work.Event{Type: work.EventLog, Time: e.Time, Level: "warn", Message: "The stream is full, further lines are left out"})
		if err != nil {
			return
		}
	}
	s.left -= len(b)
	_, _ = s.w.Write(b) // nobody listens: the termination message still says it all
}
