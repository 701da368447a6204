// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// inode names a file whatever path it is seen by.
type inode struct{ dev, ino uint64 }

// detachLoops takes away the loop devices of the cluster's block volumes. The driver's own go with it; but the kubelet puts
// another one on top of each, and nobody else would take those away when it was killed.
func detachLoops(state string) error {
	images, err := filepath.Glob(filepath.Join(state, "csi", "*", "volumes", "*", "data", "device.img"))
	if err != nil || len(images) == 0 {
		return err //nolint:wrapcheck // a bad pattern, which this is not
	}
	ours := map[inode]bool{}
	for _, image := range images {
		var st unix.Stat_t
		if err := unix.Stat(image, &st); err == nil {
			ours[inode{st.Dev, st.Ino}] = true
		}
	}
	loops, err := readLoops()
	if err != nil {
		return err
	}
	var problems []error
	for {
		at := -1
		for i, l := range loops {
			if ours[l.backing] || l.below != 0 && ours[inode{ino: l.below}] {
				at = i
				break
			}
		}
		if at < 0 {
			return errors.Join(problems...)
		}
		l := loops[at]
		ours[inode{ino: l.number}] = true // those on top of it are ours as well
		loops = append(loops[:at], loops[at+1:]...)
		problems = append(problems, l.detach())
	}
}

// loopDevice is one that has something below it.
type loopDevice struct {
	name    string
	backing inode
	// number is its own device number, below that of a device it is made of.
	number, below uint64
}

func readLoops() ([]loopDevice, error) {
	busy, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return nil, fmt.Errorf("look for loop devices: %w", err)
	}
	var out []loopDevice
	for _, folder := range busy {
		name := filepath.Join("/dev", filepath.Base(filepath.Dir(folder)))
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // no node, so nobody of ours made it
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
		var st unix.Stat_t
		info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
		if err == nil {
			err = unix.Fstat(int(f.Fd()), &st)
		}
		_ = f.Close()
		if errors.Is(err, unix.ENXIO) {
			continue // gone by now
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, err)
		}
		out = append(out, loopDevice{name: name, backing: inode{info.Device, info.Inode}, number: st.Rdev, below: info.Rdevice})
	}
	return out, nil
}

func (l loopDevice) detach() error {
	f, err := os.Open(l.name)
	if err != nil {
		return fmt.Errorf("detach %s: %w", l.name, err)
	}
	defer f.Close()
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detach %s: %w", l.name, err)
	}
	return nil
}
