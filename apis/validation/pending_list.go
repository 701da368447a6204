// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

// noInherited is for movers of no application.
const noInherited = "set securityContext and podSecurityContext instead"

// upkeepPending is what the MoverSpec of a Maintenance has below the path that leads to it.
func upkeepPending(at string) []pendingField {
	return []pendingField{
		{path: at + ".cache.mode", only: []any{"Persistent"}, instead: "the cache lives as long as the pod"},
		{path: at + ".inheritSecurityContextFrom", instead: noInherited},
	}
}

func repositoryPending() []pendingField {
	return upkeepPending("spec.maintenance.mover")
}

// pendingFields lists, by kind, the fields no code of this version reads. A row goes when its feature lands; the test of
// the list sees to it that docs/reference/differences.md says the same.
var pendingFields = map[string][]pendingField{
	"Repository":        repositoryPending(),
	"ClusterRepository": repositoryPending(),
	"Maintenance":       upkeepPending("spec.mover"),
	"RepositoryReplication": {
		{path: "spec.mover.cache.mode", only: []any{"Persistent"}, instead: "the cache lives as long as the pod"},
	},
}
