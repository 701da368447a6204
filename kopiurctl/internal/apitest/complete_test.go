// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// What a shell is told: names of objects, kinds, and words of lists.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.clusterRepository("offsite-" + w.namespace)
	w.create(repository("nas"), policy("data", "nas"), policy("db", "nas"), schedule("nightly", "data"), snapshotReplication("copy"))
	for line, want := range map[string]string{
		"snapshot now --policy ":                   "data db",
		"snapshot now --policy d":                  "data db",
		"snapshot now --deletion-policy ":          "Delete Retain Orphan",
		"snapshots list --origin ":                 "scheduled manual discovered adopted replicated",
		"snapshots list --repository ":             "nas",
		"snapshots list --repository-kind ":        "Repository ClusterRepository",
		"suspend ":                                 "policy schedule repository cluster-repository replication",
		"suspend policy ":                          "data db",
		"resume schedule ":                         "nightly",
		"suspend replication ":                     "copy",
		"suspend policy data ":                     "",
		"restore --from-policy ":                   "data db",
		"restore --access-mode ":                   "RWO RWX RWOP",
		"restore --on-missing-snapshot ":           "Fail Continue",
		"logs ":                                    "restore snapshot",
		"logs snapshot ":                           "",
		"ack-deletion ":                            "nas",
		"status -o ":                               "table wide yaml json name",
		"snapshots ":                               "list",
		"snapshots list --repository-kind Bucket ": "",
	} {
		r := w.run(append([]string{cobraComplete}, strings.Split(line, " ")...)...)
		assert.Equal(t, cli.OK, r.code)
		var got []string
		for _, l := range lines(r.stdout) {
			word, _, _ := strings.Cut(l, "\t")
			if !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), line)
	}
	for _, line := range []string{"ack-deletion --cluster ", "snapshots list --repository-kind ClusterRepository --repository "} {
		r := w.run(append([]string{cobraComplete}, strings.Split(line, " ")...)...)
		assert.Contains(t, lines(r.stdout), cluster.Name, line)
	}
	r := w.run(cobraComplete, "status", "-n", "")
	assert.Contains(t, lines(r.stdout), w.namespace)
	r = w.as("mallory").run(cobraComplete, "snapshot", "now", "--policy", "")
	assert.Equal(t, ":4\n", r.stdout, "who may see nothing is offered nothing")
}
