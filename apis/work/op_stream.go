// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

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

// EnvStream carries a StreamCommand as JSON to the helper.
const EnvStream = "KOPIUR_STREAM_COMMAND"

// StreamCommand is what the helper of a stream runs. The mover is not told: it does not speak Kubernetes.
type StreamCommand struct {
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace"`
	// PodSelector in its text form selects the one running pod.
	PodSelector string `json:"podSelector"`
	// Container of the pod, its first where it is empty.
	Container string   `json:"container,omitempty"`
	Command   []string `json:"command"`
	// TimeoutSeconds bounds the command, DeadlineSeconds the helper, which also waits for its mover.
	TimeoutSeconds  int64 `json:"timeoutSeconds"`
	DeadlineSeconds int64 `json:"deadlineSeconds"`
}

// ExitNotRun is the exit code of a Status whose command could not be run, or of which nobody knows how it ended. Its Code
// is set then, and its Message is the helper's own.
const ExitNotRun = 125

// EncodeStreamCommand renders what EnvStream carries.
func EncodeStreamCommand(c StreamCommand) (string, error) {
	c.APIVersion = APIVersion
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode stream command: %w", err)
	}
	if len(b) > MaxSpecBytes {
		return "", fmt.Errorf("%w: the command takes %d bytes, at most %d", ErrTooLarge, len(b), MaxSpecBytes)
	}
	return string(b), nil
}

// DecodeStreamCommand reads what EncodeStreamCommand wrote. Unknown fields are refused.
func DecodeStreamCommand(text string) (StreamCommand, error) {
	var c StreamCommand
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return StreamCommand{}, fmt.Errorf("decode stream command: %w", err)
	}
	switch {
	case c.APIVersion != APIVersion:
		return StreamCommand{}, fmt.Errorf("decode stream command: apiVersion %q, this helper speaks %q", c.APIVersion, APIVersion)
	case c.Namespace == "" || c.PodSelector == "" || len(c.Command) == 0 || c.TimeoutSeconds <= 0 || c.DeadlineSeconds <= 0:
		return StreamCommand{}, errors.New("decode stream command: namespace, podSelector, command, timeoutSeconds and deadlineSeconds must be set")
	}
	return c, nil
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
