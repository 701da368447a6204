// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errKilled is what a killed process would not live to see.
var errKilled = errors.New("the process was killed")

// Kill ends a controller right after one of its writes: the write is done, and the process never learns of it.
type Kill struct {
	mu     sync.Mutex
	left   int
	writes []string
	dead   chan struct{}
}

// KillAfter lets the next controller live for n writes to the API server, events and the Lease aside.
func (e *Env) KillAfter(n int) *Kill {
	k := &Kill{left: n, dead: make(chan struct{})}
	e.WrapClient(func(c client.Client) client.Client { return &mortal{Client: c, kill: k} })
	return k
}

// Spare makes the controllers that are started from now on immortal again.
func (e *Env) Spare() { e.newClient = nil }

// Dead is closed when the last write was done.
func (k *Kill) Dead() <-chan struct{} { return k.dead }

// Survives fails the test where a controller was killed by the last kill point of all: then there are writes that none is for.
func (k *Kill) Survives(t *testing.T, n, most int) {
	t.Helper()
	select {
	case <-k.Dead():
		if n == most {
			t.Errorf("it takes more writes than there are kill points: %v", k.Writes())
		}
	default:
	}
}

// Writes are those that were done, for the message of a test.
func (k *Kill) Writes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.writes...)
}

// write does one write, unless the process is dead.
func (k *Kill) write(what string, do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left <= 0 {
		return errKilled
	}
	k.left--
	k.writes = append(k.writes, what)
	err := do()
	if k.left == 0 {
		close(k.dead)
		return errKilled
	}
	return err
}

// mortal is a client whose writes are counted.
type mortal struct {
	client.Client
	kill *Kill
}

func (m *mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return m.kill.write("create "+obj.GetName(), func() error { return m.Client.Create(ctx, obj, opts...) })
}

func (m *mortal) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return m.kill.write("update "+obj.GetName(), func() error { return m.Client.Update(ctx, obj, opts...) })
}

func (m *mortal) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return m.kill.write("patch "+obj.GetName(), func() error { return m.Client.Patch(ctx, obj, patch, opts...) })
}

func (m *mortal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return m.kill.write("delete "+obj.GetName(), func() error { return m.Client.Delete(ctx, obj, opts...) })
}

func (m *mortal) Status() client.SubResourceWriter {
	return &mortalStatus{SubResourceWriter: m.Client.Status(), kill: m.kill}
}

type mortalStatus struct {
	client.SubResourceWriter
	kill *Kill
}

func (m *mortalStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return m.kill.write("status "+obj.GetName(), func() error { return m.SubResourceWriter.Patch(ctx, obj, patch, opts...) })
}

func (m *mortalStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	return m.kill.write("status "+obj.GetName(), func() error { return m.SubResourceWriter.Update(ctx, obj, opts...) })
}
