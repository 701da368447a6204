// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// attachLoop makes a device of a file, or of another device, as losetup does.
func attachLoop(t *testing.T, file string) string {
	t.Helper()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	require.NoError(t, err)
	defer control.Close()
	backing, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	defer backing.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		require.NoError(t, err)
		name := filepath.Join("/dev", "loop"+string(rune('0'+n%10)))
		if n > 9 {
			t.Skip("many loop devices are in use")
		}
		dev, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{Fd: uint32(backing.Fd()), Size: 512})
		_ = dev.Close()
		if err != nil {
			require.ErrorIs(t, err, unix.EBUSY)
			continue
		}
		t.Cleanup(func() { _ = loopDevice{name: name}.detach() })
		return name
	}
}

func TestLoopDevicesGoWithTheCluster(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes devices")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this machine has no loop devices")
	}
	image := func(state string) string {
		data := filepath.Join(state, "csi", "driver", "volumes", "v", "data")
		require.NoError(t, os.MkdirAll(data, 0o750))
		at := filepath.Join(data, "device.img")
		require.NoError(t, os.WriteFile(at, make([]byte, 1<<20), 0o600))
		return at
	}
	ours, others := t.TempDir(), t.TempDir()
	below := attachLoop(t, image(ours))
	above := attachLoop(t, below)
	foreign := attachLoop(t, image(others))
	require.NoError(t, detachLoops(ours))
	var names []string
	loops, err := readLoops()
	require.NoError(t, err)
	for _, l := range loops {
		names = append(names, l.name)
	}
	left := strings.Join(names, " ")
	assert.NotContains(t, left, below)
	assert.NotContains(t, left, above, "what the kubelet put on top of it goes too")
	assert.Contains(t, left, foreign, "what belongs to another cluster stays")
}
