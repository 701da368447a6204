// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"hash/fnv"
	"time"
)

// The rest after a transient error. The work queue's own exponential backoff is not used: it forgets an object that
// succeeded once and brings all those that failed together back together.
const (
	spreadMin = 30 * time.Second
	spreadMax = 60 * time.Second
)

// Spread is the rest of one object after a transient error, in [30 s, 60 s). It is the same every time, and differs
// between objects, so that a thousand that failed in one outage do not come back in one wave.
func Spread(kind, namespace, name string) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind + "/" + namespace + "/" + name))
	return spreadMin + time.Duration(h.Sum64()%uint64(spreadMax-spreadMin))
}
