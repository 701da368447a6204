// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// inside is what lies in a folder of a list, as somebody who is not its owner keeps it.
func inside(t *testing.T, entries []framework.Entry, folder string) map[string]framework.Entry {
	t.Helper()
	out := map[string]framework.Entry{}
	for _, e := range entries {
		rel, ok := strings.CutPrefix(e.Path, folder)
		if !ok || rel == "" || e.Path == "." {
			continue
		}
		mode, err := strconv.ParseUint(e.Mode, 8, 32)
		require.NoError(t, err)
		e.Path, e.UID, e.GID, e.Mode = rel, 0, 0, strconv.FormatUint(mode&0o777, 8)
		if e.Type != "file" && e.Type != "dir" {
			e.Mtime = 0 // nothing sets the time of a link
		}
		out[rel] = e
	}
	return out
}

// described lists a folder of this machine as the test application does in a pod.
func described(t *testing.T, dir string) []framework.Entry {
	t.Helper()
	program, err := filepath.Abs("../../out/bin/testapp")
	require.NoError(t, err)
	b, err := exec.CommandContext(t.Context(), program, "manifest", dir).Output()
	require.NoError(t, err)
	var out []framework.Entry
	for line := range strings.Lines(string(b)) {
		var e framework.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}

// TestBrowse looks into a real backup from the command line: what is listed, written and fetched is what was backed up, over
// one session, of which nothing is left when it is ended.
func TestBrowse(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	uid := int64(1000)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{UID: &uid}, "fill", "--seed", "21", "--files", "200", "--sparse", "8388608", "/data/mine")
	e.RunApp(t, ns, "data", framework.AppOptions{UID: &uid}, "write", "/data/mine/notes/today", "look, no restore\n")
	source := e.List(t, ns, "data")
	r := framework.Repository(ns, "nas", framework.OnS3(e.S3Server(t, ns), framework.Bucket))
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Repository.Name = "nas"
	p.Spec.Mover = framework.UIDMover(uid)
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), r, p, s)
	e.WaitReady(t, s)
	sessions := client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse}
	seen := e.RecordJobs(t, ns, sessions)

	code, stdout, stderr := kopiurctl(t, ns, "ls", "one", "mine", "-o", "json")
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "opening a session on Repository "+ns+"/nas")
	var listed struct{ Entries []work.BrowseEntry }
	require.NoError(t, json.Unmarshal([]byte(stdout), &listed))
	names := map[string]bool{}
	for _, entry := range listed.Entries {
		names[entry.Name] = true
	}
	want := map[string]bool{}
	for path := range inside(t, source, "mine/") {
		top, _, _ := strings.Cut(path, "/")
		want[top] = true
	}
	assert.Equal(t, want, names)

	code, stdout, stderr = kopiurctl(t, ns, "ls", "one", "mine/notes")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^-rw\S+ +1000:1000 +17 B +\S+Z +today$`, stdout)
	assert.NotContains(t, stderr, "opening", "the session of the first question answers the second")

	code, stdout, stderr = kopiurctl(t, ns, "cat", "one", "/mine/notes/today")
	require.Zero(t, code, stderr)
	assert.Equal(t, "look, no restore\n", stdout)
	code, _, stderr = kopiurctl(t, ns, "cat", "one", "mine/notes")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "mine/notes is a folder")
	code, _, stderr = kopiurctl(t, ns, "cat", "one", "mine/notes/tomorrow")
	assert.Equal(t, 3, code, stderr)

	to := filepath.Join(t.TempDir(), "to")
	t.Cleanup(func() { writable(to) })
	code, _, stderr = kopiurctl(t, ns, "download", "one", "mine", "--to", to)
	require.Zero(t, code, stderr)
	assert.Equal(t, inside(t, source, "mine/"), inside(t, described(t, to), ""), "every byte, mode, time and link target")
	code, _, stderr = kopiurctl(t, ns, "download", "one", "mine", "--to", to)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "is there already")

	require.Len(t, seen(), 1, "one session for all questions")
	var asked corev1.ConfigMapList
	require.NoError(t, e.Client.List(t.Context(), &asked, client.InNamespace(ns), sessions))
	require.Len(t, asked.Items, 1)
	code, stdout, stderr = kopiurctl(t, ns, "session", "end", "one")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "configmap/"+asked.Items[0].Name+" ended")
	e.Eventually(t, "nothing to be left of the session", func(ctx context.Context) string {
		return left(ctx, e, ns, sessions)
	})

	// One that is left open is over by itself.
	code, _, stderr = kopiurctl(t, ns, "ls", "one", "--session-ttl", "10s")
	require.Zero(t, code, stderr)
	require.NoError(t, e.Client.List(t.Context(), &asked, client.InNamespace(ns), sessions))
	require.Len(t, asked.Items, 1)
	e.WaitGone(t, &asked.Items[0])
	e.Eventually(t, "its Job to go", func(ctx context.Context) string { return left(ctx, e, ns, sessions) })
}

// left names what there is with some labels.
func left(ctx context.Context, e *framework.Env, namespace string, labels client.MatchingLabels) string {
	var out []string
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}} {
		if err := e.Client.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
			return err.Error()
		}
		if n := meta.LenList(list); n > 0 {
			out = append(out, fmt.Sprintf("%d in %T", n, list))
		}
	}
	return strings.Join(out, ", ")
}

// writable lets a test's folder be removed, whatever modes were downloaded.
func writable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder of the test's own
		}
		return nil
	})
}
