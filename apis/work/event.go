// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// EventType tells the lines of a mover's standard output apart.
type EventType string

// Types of events.
const (
	EventLog      EventType = "log"
	EventProgress EventType = "progress"
	EventPage     EventType = "page"
	EventResult   EventType = "result"
)

// MaxStreamBytes is what one mover writes to its standard output at most. The log API reads only the current file,
// which the kubelet rotates at 10 MiB.
const MaxStreamBytes = 4 << 20

// Event is one line of a mover's standard output.
type Event struct {
	Type EventType `json:"type"`
	Time time.Time `json:"time"`

	// Of a log.
	Level   string `json:"level,omitempty"`
	Message string `json:"message,omitempty"`

	Progress *Progress `json:"progress,omitempty"`
	Page     *Page     `json:"page,omitempty"`
	Result   *Result   `json:"result,omitempty"`
}

// Progress is how far an operation has come. Totals are estimates, zero while unknown.
type Progress struct {
	BytesProcessed int64 `json:"bytesProcessed"`
	FilesProcessed int64 `json:"filesProcessed"`
	BytesTotal     int64 `json:"bytesTotal,omitempty"`
	FilesTotal     int64 `json:"filesTotal,omitempty"`
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	ETASeconds     int64 `json:"etaSeconds,omitempty"`
}

// ProgressInterval is the time between two progress events, by how long the operation has run: every 5 s in the first
// minute, then every 30 s.
func ProgressInterval(running time.Duration) time.Duration {
	if running < time.Minute {
		return 5 * time.Second
	}
	return 30 * time.Second
}
