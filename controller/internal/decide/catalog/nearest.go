// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// mostMisses is how many identities are named.
const mostMisses = 3

// Miss is an identity that has snapshots and is nearly one of the policy's.
type Miss struct {
	Identity, Own kopiurv1.Identity
	Count         int64
	// Advice is what to write to take them over.
	Advice string

	score int
}

// Nearest are the identities that come closest to the policy's own, of those that have snapshots and belong to no policy.
// Two of user, host and path have to be the same, or the host and the last part of the path: anything else is nearly
// everything.
func Nearest(own []kopiurv1.Identity, found map[kopiurv1.Identity]int64) []Miss {
	var out []Miss
	for _, id := range slices.SortedFunc(maps.Keys(found), func(a, b kopiurv1.Identity) int { return strings.Compare(a.String(), b.String()) }) {
		var best Miss
		for _, o := range own {
			if m := compare(o, id); m.score > best.score {
				best = m
			}
		}
		if best.score > 0 {
			best.Count = found[id]
			out = append(out, best)
		}
	}
	slices.SortStableFunc(out, func(a, b Miss) int { return cmp.Or(b.score-a.score, cmp.Compare(b.Count, a.Count)) })
	return out[:min(len(out), mostMisses)]
}

func compare(own, id kopiurv1.Identity) Miss {
	m := Miss{Identity: id, Own: own}
	user, host, path := own.Username == id.Username, own.Hostname == id.Hostname, own.SourcePath == id.SourcePath
	switch {
	case user && host && !path:
		m.score, m.Advice = 4, fmt.Sprintf("write sourcePathOverride: %s for the source", id.SourcePath)
	case host && path && !user:
		m.score, m.Advice = 3, fmt.Sprintf("write spec.identity.username: %s", id.Username)
	case user && path && !host:
		m.score, m.Advice = 2, fmt.Sprintf("write spec.identity.hostname: %s", id.Hostname)
	case host && !user && !path && last(own.SourcePath) == last(id.SourcePath):
		m.score, m.Advice = 1, fmt.Sprintf("write spec.identity.username: %s, and sourcePathOverride: %s for the source", id.Username, id.SourcePath)
	}
	return m
}

func last(path string) string {
	path = strings.TrimRight(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Explain names them in one sentence each.
func Explain(misses []Miss) string {
	var parts []string
	for _, m := range misses {
		parts = append(parts, fmt.Sprintf("%d snapshots are filed as %s and this policy files its own as %s: to take them over, %s", m.Count, m.Identity, m.Own, m.Advice))
	}
	return strings.Join(parts, "; ")
}
