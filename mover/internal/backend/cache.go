// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

const (
	mib = 1 << 20
	// floorBytes is the least a cache is good for.
	floorBytes = 64 * mib
	// Without a known capacity (an emptyDir on the node's disk) the caches stay modest.
	defaultContentBytes  = 512 * mib
	defaultMetadataBytes = 1024 * mib
)

// Cache derives hard limits from a volume. Its size is what the spec says, but no more than it really has: volume is the
// size of the file system, 0 where that is not known, and an emptyDir has that of the node's disk. Content and metadata together stay below 80 % of it (G-3): kopia's index
// cache, temporary files and the file system's own needs fit into the rest. Metadata gets the larger part, it is what
// makes a connect slow when it is missing. A volume too small for both floors is not used at all.
func Cache(c work.Cache, dir string, volume int64) engine.Cache {
	if dir == "" {
		return engine.Cache{}
	}
	content, metadata := c.ContentLimitBytes, c.MetadataLimitBytes
	capacity := c.CapacityBytes
	if volume > 0 && (capacity > volume || capacity == 0 && orDefault(content, defaultContentBytes)+orDefault(metadata, defaultMetadataBytes) > volume/5*4) {
		capacity = volume
	}
	budget := capacity / 5 * 4
	if capacity > 0 && budget < 2*floorBytes {
		return engine.Cache{}
	}
	if capacity > 0 {
		content, metadata = split(content, metadata, budget)
	}
	content, metadata = orDefault(content, defaultContentBytes), orDefault(metadata, defaultMetadataBytes)
	return engine.Cache{Dir: dir, ContentBytes: max(content, floorBytes), MetadataBytes: max(metadata, floorBytes)}
}

// split divides a budget, honouring what the user set as far as it fits.
func split(content, metadata, budget int64) (int64, int64) {
	switch {
	case content <= 0 && metadata <= 0:
		return budget / 8 * 3, budget / 8 * 5
	case content <= 0:
		metadata = clamp(metadata, floorBytes, budget-floorBytes)
		return budget - metadata, metadata
	case metadata <= 0:
		content = clamp(content, floorBytes, budget-floorBytes)
		return content, budget - content
	case content+metadata > budget:
		content = clamp(int64(float64(budget)*float64(content)/float64(content+metadata)), floorBytes, budget-floorBytes)
		return content, budget - content
	default:
		return content, metadata
	}
}

func orDefault(n, def int64) int64 {
	if n <= 0 {
		return def
	}
	return n
}

func clamp(v, low, high int64) int64 { return max(low, min(v, high)) }
