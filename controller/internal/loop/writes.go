// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BehindRetry is when to look again at an object whose last write the cache has not seen. Its own event comes before.
const BehindRetry = 250 * time.Millisecond

// Writes remembers which versions of objects this process has replaced. A reconcile that is woken before the cache has
// seen the last write would decide by the past, and ask for a conflict.
type Writes struct {
	mu       sync.Mutex
	replaced map[types.UID][]string
}

// NewWrites makes one.
func NewWrites() *Writes { return &Writes{replaced: map[types.UID][]string{}} }

// mostRemembered bounds the memory of objects that nobody has looked at since. To forget them all costs a few conflicts.
const mostRemembered = 10000

// Did notes that a write has replaced one version of an object by another. One that changed nothing is no write.
func (w *Writes) Did(uid types.UID, from, to string) {
	if w == nil || from == "" || from == to {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.replaced) >= mostRemembered {
		clear(w.replaced)
	}
	w.replaced[uid] = append(w.replaced[uid], from)
}

// Behind reports whether an object, as a cache has it, was replaced by this process already. Versions are compared by
// equality alone. One that was not ends the memory of it.
func (w *Writes) Behind(obj client.Object) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old, known := w.replaced[obj.GetUID()]
	if !known {
		return false
	}
	if slices.Contains(old, obj.GetResourceVersion()) {
		return true
	}
	delete(w.replaced, obj.GetUID())
	return false
}
