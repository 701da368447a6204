// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// record is what a cluster leaves on disk for the next command. It is written before the first process starts and
// after each change, so that down can always clear up.
type record struct {
	Name      string            `json:"name"`
	Started   time.Time         `json:"started"`
	Ready     bool              `json:"ready"`
	Server    string            `json:"server"`
	Processes []process         `json:"processes"`
	Paths     binaryPaths       `json:"paths"`
	Versions  map[string]string `json:"versions"`
}

// binaryPaths are folders of the cache that a cluster runs from.
type binaryPaths struct {
	Kubernetes string `json:"kubernetes"`
	Node       string `json:"node,omitempty"`
	Driver     string `json:"driver,omitempty"`
	Box        string `json:"box,omitempty"`
	Images     string `json:"images,omitempty"`
}

func (l layout) read() (record, error) {
	raw, err := os.ReadFile(l.record())
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return record{}, fmt.Errorf("read %s: %w", l.record(), err)
	}
	return r, nil
}

func (l layout) write(r record) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	// Renamed into place: status may read at any moment.
	draft := l.record() + ".draft"
	if err := os.WriteFile(draft, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	return os.Rename(draft, l.record())
}

// running tells whether all processes of the record live.
func (r record) running() bool {
	for _, p := range r.Processes {
		if !p.alive() {
			return false
		}
	}
	return len(r.Processes) > 0
}
