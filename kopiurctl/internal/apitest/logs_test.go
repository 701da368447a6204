// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

const progressLine = `{"type":"progress","time":"2026-03-05T08:30:02Z","progress":{"bytesProcessed":1}}` + "\n"

// Of what a mover prints, the log is shown, of the newest attempt unless the one before is asked for.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.kubelet()
	s := snapshot("one", "data")
	w.create(s)
	w.run("logs", "snapshot", "one").golden("logs-none-yet")
	w.pod(k, "a-first", "s-one", "snapshot", s.UID)
	k.prints("a-first", line("08:30:01", "info", "connecting")+line("08:30:04", "error", "the repository does not answer"))
	k.ends("a-first")
	w.run("logs", "snapshot", "one").golden("logs-one-attempt")
	w.run("logs", "snapshot", "one", "--previous").golden("logs-no-previous")

	w.pod(k, "b-second", "s-one", "snapshot", s.UID)
	w.pod(k, "c-pin", "s-pin", "pin", s.UID)
	k.prints("c-pin", line("09:00:00", "info", "pinned"))
	k.prints("b-second", line("08:31:01", "info", "connecting")+progressLine+line("08:31:05", "info", `a name with \u001b[2J`)+line("08:31:09", "info", "stored"))
	w.run("logs", "snapshot", "one").golden("logs-newest")
	w.run("logs", "snapshot", "one", "--tail", "1").golden("logs-tail")
	w.run("logs", "snapshot", "one", "--previous").golden("logs-previous")

	k.forgets("b-second")
	w.run("logs", "snapshot", "one").golden("logs-gone-and-nothing-kept")
	w.status(s, func() { succeeded(s, "2026-03-05T08:30:00Z"); s.Status.LogTail = "2026-03-05T08:31:09Z info stored" })
	w.run("logs", "snapshot", "one").golden("logs-kept")
	w.run("logs", "snapshot", "one", "-f").golden("logs-kept-follow")
}

func TestLogsRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(snapshot("one", "data"))
	for name, args := range map[string][]string{
		"kind":     {"policy", "data"},
		"no-name":  {"snapshot"},
		"unknown":  {"snapshot", "on"},
		"restore":  {"restore", "one"},
		"output":   {"snapshot", "one", "-o", "json"},
		"previous": {"snapshot", "one", "-f", "--previous"},
		"tail":     {"snapshot", "one", "--tail", "-2"},
	} {
		w.run(append([]string{"logs"}, args...)...).golden("logs-refuses-" + name)
	}
}

// Following goes on over all attempts, and ends as the object does.
func TestLogsFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.kubelet()
	r := &kopiurv1.Restore{Spec: restoreSpec("one")}
	r.Name = "back"
	w.create(r)
	w.pod(k, "a-resolve", "v-one", "resolve", r.UID)
	k.prints("a-resolve", line("08:30:01", "info", "looking")+line("08:30:02", "info", "found"))
	c := w.start(t.Context(), "logs", "restore", "back", "-f", "--tail", "1")
	require.Eventually(t, func() bool { return c.out.String() != "" }, patience, tick)
	assert.Equal(t, "08:30:02 INFO  found\n", c.out.String())
	k.prints("a-resolve", line("08:30:03", "info", "done"))
	k.ends("a-resolve")
	k.prints("b-restore", line("08:30:05", "info", "restoring"))
	k.ends("b-restore")
	w.pod(k, "b-restore", "v-two", "restore", r.UID)
	w.status(r, func() { completed(r) })
	got := c.wait()
	assert.Equal(t, cli.OK, got.code, got.stderr)
	assert.Equal(t, "08:30:02 INFO  found\n08:30:03 INFO  done\n08:30:05 INFO  restoring\n", got.stdout)
}
