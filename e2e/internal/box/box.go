// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package box is what the harness and pid 1 of a box say to each other: one configuration at the start, then one
// request and one reply, both JSON, per connection of a unix socket.
package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// File descriptors that pid 1 inherits. The relay's listener was opened in the host's network: a socket stays in the
// network namespace it was made in, so pid 1 accepts the host's connections and dials inside the box, and no process
// is left on the host.
const (
	RelayFD   = 3
	ControlFD = 4
	ReadyFD   = 5
)

// ReadyWord is what pid 1 writes to ReadyFD when the box stands; anything else is an error's text.
const ReadyWord = "ready"

// Config tells pid 1 how to furnish the box.
type Config struct {
	Hostname string
	// Address is the node's address with its prefix length; Routes are networks sent to the same device.
	Address string
	Routes  []string
	// StateDir on the host is seen as MountPoint in the box, which keeps socket paths short wherever it lies.
	StateDir, MountPoint string
	// Scratch folders keep what they hold, but writes to them go to memory and end with the box.
	Scratch []string
	// Sysctls are values that programs in the box may read and set without reaching the machine's own.
	Sysctls map[string]string
	// RelayTo is the address that connections to the relay's listener are forwarded to.
	RelayTo string
}

// Start asks for a program to be run.
type Start struct {
	Name string
	Args []string
	Env  []string
	Log  string
}

// Process is a program that pid 1 has started.
type Process struct {
	Name string
	// PID is the one inside the box.
	PID     int
	Running bool
	// Exit says how it ended.
	Exit string `json:",omitempty"`
}

// Request is a question to pid 1: to start a program, to end one, or (with neither) to list all.
type Request struct {
	Start *Start `json:",omitempty"`
	Stop  string `json:",omitempty"`
}

// Reply is its answer. Processes holds one entry after Start and Stop, all of them otherwise.
type Reply struct {
	Error     string `json:",omitempty"`
	Processes []Process
}

// Ask sends one request to the control socket.
func Ask(ctx context.Context, socket string, request Request) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("reach the box: %w", err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return nil, fmt.Errorf("ask the box: %w", err)
	}
	var reply Reply
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		return nil, fmt.Errorf("read the box's answer: %w", err)
	}
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return reply.Processes, nil
}
