// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Kopia ends a rclone that does not come up while another goroutine of its own may be starting it, which the race
// detector reports as kopia's race. The test runs without it, beside those of the backends.
//go:build !race

package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C-12: a rclone that does not come up ends within the time that the user gave it, with the field's name.
func TestRcloneStartsInTime(t *testing.T) { //nolint:paralleltest // PATH
	program(t, `case "$1" in lsf) echo kopia.repository.f;; *) exec sleep 60;; esac`)
	_, err := Open(testContext(t), connection(t, Storage{Rclone: &Rclone{RemotePath: "nas:backups", StartupTimeout: 50 * time.Millisecond}}))
	var said *RcloneError
	require.ErrorAs(t, err, &said)
	assert.Contains(t, said.Said, "backend.rclone.startupTimeout")
}
