// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// StreamSnapshot stores what a command writes to its standard output as one file. The command is run by a helper in
// another container of the pod, which brings its output to StreamSocket; see Hello for the conversation. Without a
// final status of 0 nothing is stored.
type StreamSnapshot struct {
	Identity Identity `json:"identity"`
	// FileName is what the stored file is called.
	FileName    string            `json:"fileName"`
	Description string            `json:"description,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	// Pinned stores the snapshot with Kopiur's pin.
	Pinned bool `json:"pinned,omitempty"`
	// Compression is kopia's name of an algorithm. Empty means Kopiur's default.
	Compression string `json:"compression,omitempty"`
}

// StreamRestore brings one file of a snapshot to a command's standard input, through the same helper. It is delivered
// once the helper reports that the command took every byte and ended with 0.
type StreamRestore struct {
	SnapshotID string `json:"snapshotID"`
	// Identity and StartTime find the snapshot again when its manifest id has changed.
	Identity  Identity   `json:"identity,omitzero"`
	StartTime *time.Time `json:"startTime,omitempty"`
	// FileName is the path of the file below the snapshot's root.
	FileName string `json:"fileName"`
}

// StreamRestoreResult describes what was delivered.
type StreamRestoreResult struct {
	SnapshotID string `json:"snapshotID"`
	// SizeBytes is the file's size, BytesDelivered what the consumer acknowledged.
	SizeBytes      int64 `json:"sizeBytes"`
	BytesDelivered int64 `json:"bytesDelivered"`
	// Delivered: the consumer took everything and ended well.
	Delivered bool `json:"delivered,omitempty"`
}

// Hello is the first frame on the stream socket. The mover sends it when the repository is open and everything that
// can be checked before was: only then the helper runs the command. Where there is nothing to run (a lost attempt had
// stored it already, or the mover failed) the mover sends a Status instead, and the helper ends with it.
//
//	snapshot:  mover Hello → helper Data… Status{exit code, bytes} → mover Status{0 once it is committed}
//	restore:   mover Hello Data… Status{0, bytes} → helper Status{exit code, bytes the command took}
type Hello struct {
	APIVersion string `json:"apiVersion"`
	Operation  string `json:"operation"`
	RequestID  string `json:"requestID,omitempty"`
	// SizeBytes of a restore.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

// Status is the last frame of a sender.
type Status struct {
	// ExitCode is 0 for success, and only then.
	ExitCode int `json:"exitCode"`
	// Bytes is how much data the sender has sent, or for a consumer, has taken.
	Bytes int64 `json:"bytes"`
	// Code is the mover's outcome.
	Code Code `json:"code,omitempty"`
	// Message is for people: the mover's sentence, or the end of the command's standard error, at most
	// MaxStatusMessageBytes.
	Message string `json:"message,omitempty"`
}

// MaxStatusMessageBytes bounds the text of a Status.
const MaxStatusMessageBytes = 8 << 10
