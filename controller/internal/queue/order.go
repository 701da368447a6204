// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Patience is how long a follow-up gives way to what is asked for.
const Patience = 5 * time.Second

// due is the time by which an object is to be looked at.
func due(asked bool, now time.Time) time.Time {
	if asked {
		return now
	}
	return now.Add(Patience)
}

// order holds what is to be looked at, the most urgent first. It is a workqueue's storage: but for ask, which anybody may
// call at any time, its methods are called one at a time.
type order[T comparable] struct {
	clock clock.PassiveClock
	heap  turns[T]
	at    map[T]*turn[T]
	// count of all that came: among those due at the same time the first is first.
	count uint64

	mu    sync.Mutex
	asked map[T]bool
}

// turn is one object in the queue.
type turn[T comparable] struct {
	item   T
	due    time.Time
	number uint64
	index  int
}

func newOrder[T comparable](c clock.PassiveClock) *order[T] {
	return &order[T]{clock: c, at: map[T]*turn[T]{}, asked: map[T]bool{}}
}

// ask marks an item that is about to be added as asked for. Should another worker take it in between, the mark goes with it,
// and what is added then is a follow-up: it is looked at all the same.
func (o *order[T]) ask(item T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[item] = true
}

func (o *order[T]) isAsked(item T) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[item]
}

// Touch moves up an item that is there and is asked for now. One that is only seen again keeps its place.
func (o *order[T]) Touch(item T) {
	t := o.at[item]
	if t == nil || !o.isAsked(item) {
		return
	}
	if now := due(true, o.clock.Now()); now.Before(t.due) {
		t.due = now
		heap.Fix(&o.heap, t.index)
	}
}

// Push adds an item.
func (o *order[T]) Push(item T) {
	o.count++
	t := &turn[T]{item: item, due: due(o.isAsked(item), o.clock.Now()), number: o.count}
	o.at[item] = t
	heap.Push(&o.heap, t)
}

// Len is the number of items.
func (o *order[T]) Len() int { return len(o.heap) }

// Pop takes the most urgent one out.
func (o *order[T]) Pop() T {
	t := heap.Pop(&o.heap).(*turn[T]) //nolint:forcetypeassert // nothing else is pushed
	delete(o.at, t.item)
	o.mu.Lock()
	delete(o.asked, t.item)
	o.mu.Unlock()
	return t.item
}

// turns is a heap by time.
type turns[T comparable] []*turn[T]

func (h turns[T]) Len() int { return len(h) }

func (h turns[T]) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].number < h[j].number
	}
	return h[i].due.Before(h[j].due)
}

func (h turns[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is the heap's.
func (h *turns[T]) Push(x any) {
	t := x.(*turn[T]) //nolint:forcetypeassert // nothing else is pushed
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop is the heap's.
func (h *turns[T]) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}
