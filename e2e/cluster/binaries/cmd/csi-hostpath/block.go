// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// image is the file in a volume's folder that holds the bytes of a block volume.
const image = "device.img"

// isBlock reports what kind of volume the capabilities of a call ask for.
func isBlock(all ...*csi.VolumeCapability) bool {
	for _, c := range all {
		if c.GetBlock() != nil {
			return true
		}
	}
	return false
}

// makeImage gives a block volume its size. A copy may be larger than its source.
func (s *store) makeImage(_ context.Context, data string, bytes int64) error {
	f, err := os.OpenFile(filepath.Join(data, image), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(bytes)
}

// loops are the loop devices of the block volumes that are published. The driver holds each open, and the kernel takes a
// device away with whoever closes it last: a box that is killed leaves none behind.
type loops struct {
	mu   sync.Mutex
	held map[string]*loop // by volume
}

type loop struct {
	dev     *os.File
	targets map[string]bool
}

// publish makes the volume's device and binds it to a target.
func (l *loops) publish(id, file, target string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.held[id]
	if have == nil {
		dev, err := attach(file)
		if err != nil {
			return err
		}
		have = &loop{dev: dev, targets: map[string]bool{}}
		if l.held == nil {
			l.held = map[string]*loop{}
		}
		l.held[id] = have
	}
	if err := bindDevice(have.dev.Name(), target); err != nil {
		l.drop(id)
		return err
	}
	have.targets[target] = true
	return nil
}

// release forgets a target, and the device with its last one.
func (l *loops) release(id, target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.held[id]; have != nil {
		delete(have.targets, target)
		l.drop(id)
	}
}

func (l *loops) drop(id string) {
	if have := l.held[id]; have != nil && len(have.targets) == 0 {
		_ = have.dev.Close()
		delete(l.held, id)
	}
}

func bindDevice(dev, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := unix.Mount(dev, target, "", unix.MS_BIND, ""); err != nil {
		return status.Errorf(codes.Internal, "bind %s: %v", target, err)
	}
	return nil
}

// attach finds a free loop device for a file.
func attach(file string) (*os.File, error) {
	backing, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer backing.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a loop device: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", n)
		// Where /dev is no devtmpfs nobody else makes the node.
		if err := unix.Mknod(name, unix.S_IFBLK|0o660, int(unix.Mkdev(7, uint32(n)))); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		dev, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{
			Fd: uint32(backing.Fd()), Size: 512, Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR},
		})
		if err == nil {
			return dev, nil
		}
		_ = dev.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", name, err)
		}
	}
}
