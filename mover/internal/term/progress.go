// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"context"
	"time"

	"github.com/kopiur/kopiur/apis/work"
)

// Sample is what an operation has done so far.
type Sample struct {
	Bytes, Files, TotalBytes, TotalFiles int64
}

// smoothing is the weight of the newest interval in the rate: high enough to follow a change of the data, low enough
// that one large file does not make the ETA jump.
const smoothing = 0.3

// Meter turns samples into progress with a rate and an estimate of what is left.
type Meter struct {
	start, last time.Time
	lastBytes   int64
	rate        float64
}

// NewMeter starts at a moment.
func NewMeter(now time.Time) *Meter { return &Meter{start: now, last: now} }

// Next takes a sample. The estimate is left out while the total or the rate is not known.
func (m *Meter) Next(now time.Time, s Sample) work.Progress {
	p := work.Progress{BytesProcessed: s.Bytes, FilesProcessed: s.Files, BytesTotal: s.TotalBytes, FilesTotal: s.TotalFiles}
	if dt := now.Sub(m.last).Seconds(); dt > 0 {
		rate := float64(s.Bytes-m.lastBytes) / dt
		if m.last.Equal(m.start) {
			m.rate = rate
		} else {
			m.rate += smoothing * (rate - m.rate)
		}
		m.last, m.lastBytes = now, s.Bytes
	}
	p.BytesPerSecond = int64(m.rate)
	// The source may grow while it is read; then there is no estimate rather than a wrong one.
	if left := s.TotalBytes - s.Bytes; left > 0 && m.rate >= 1 {
		p.ETASeconds = int64(float64(left) / m.rate)
	}
	return p
}

// Report writes progress until the context ends, at the intervals of the protocol. After is time.After, or a test's.
func (s *Stream) Report(ctx context.Context, sample func() Sample, after func(time.Duration) <-chan time.Time) {
	start := s.now()
	m := NewMeter(start)
	for {
		select {
		case <-ctx.Done():
			return
		case <-after(work.ProgressInterval(s.now().Sub(start))):
			s.Progress(m.Next(s.now(), sample()))
		}
	}
}
