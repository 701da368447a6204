// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRestoreOfAPart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "conf/app.yaml"), "key: value", 0o640)
	writeFile(t, filepath.Join(src, "conf/more/other"), "12", 0o600)
	writeFile(t, filepath.Join(src, "data"), "123", 0o600)
	require.NoError(t, os.Symlink("conf", filepath.Join(src, "link")))
	stored := facts(t, src)
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		sub   string
		from  string   // the folder it comes from
		want  []string // in the target
		bytes int64
		err   error
	}{
		"nothing named is everything":             {"", "", []string{".", "conf", "conf/app.yaml", "conf/more", "conf/more/other", "data", "link"}, 15, nil},
		"a slash is everything":                   {"/", "", []string{".", "conf", "conf/app.yaml", "conf/more", "conf/more/other", "data", "link"}, 15, nil},
		"a folder's content goes into the target": {"conf", "conf", []string{".", "app.yaml", "more", "more/other"}, 12, nil},
		"a folder below a folder":                 {"/conf/more/", "conf/more", []string{".", "other"}, 2, nil},
		"a file goes in under its own name":       {"conf/app.yaml", "conf", []string{".", "app.yaml"}, 10, nil},
		"blind steps are no steps":                {"./conf//./app.yaml", "conf", []string{".", "app.yaml"}, 10, nil},
		"a link is restored as the link":          {"link", "", []string{".", "link"}, 4, nil},
		"what is not there":                       {"conf/nope", "", nil, 0, ErrNotInSnapshot},
		"something below a file":                  {"data/x", "", nil, 0, ErrNotInSnapshot},
		"something through a link":                {"link/app.yaml", "", nil, 0, ErrNotInSnapshot},
		"a way up":                                {"conf/../data", "", nil, 0, ErrInvalidOption},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part, err := r.Part(ctx, up.Snapshot, tc.sub)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, up.Snapshot.ID, part.ID)
			dst, progress := t.TempDir(), &Counters{}
			_, err = r.Restore(ctx, part, Restore{Target: dst, Progress: progress})
			require.NoError(t, err)
			assert.Equal(t, tc.bytes, part.Size)
			if !strings.Contains(tc.sub, "link") {
				assert.Equal(t, part.Size, progress.Bytes.Load())
			}
			var names []string
			for p, f := range facts(t, dst) {
				names = append(names, p)
				if p != "." {
					assert.Equal(t, stored[filepath.Join(tc.from, p)], f, p)
				}
			}
			assert.ElementsMatch(t, tc.want, names)
		})
	}
}

func TestAnAttemptGoesOnWhereTheOneBeforeEnded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	for _, n := range []string{"a", "b", "d/c", "d/e"} {
		writeFile(t, filepath.Join(src, n), "content of "+n, 0o640)
	}
	require.NoError(t, os.Symlink("a", filepath.Join(src, "link")))
	long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, n := range []string{"a", "b", "d/c", "d/e"} {
		require.NoError(t, os.Chtimes(filepath.Join(src, n), long, long))
	}
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		o Restore
		// again is the request of the second attempt.
		again string
		// skipped is how many of the three files that the first attempt came to are not written again.
		skipped int64
	}{
		"the same request":                     {Restore{}, "r", 3},
		"in place, but not over older ones":    {Restore{InPlace: true}, "r", 2},
		"while nothing may be written over":    {Restore{KeepFiles: true, KeepDirectories: true, KeepLinks: true}, "r", 3},
		"without times, where files are whole": {Restore{SkipTimes: true}, "r", 3},
		"without times, written in place":      {Restore{SkipTimes: true, InPlace: true}, "r", 0},
		"another request":                      {Restore{}, "r2", 0},
		"no request":                           {Restore{}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dst := t.TempDir()
			if !tc.o.KeepDirectories {
				// Something of the same size and time that was there before, and is not the snapshot's.
				writeFile(t, filepath.Join(dst, "a"), "CONTENT OF A", 0o600)
				require.NoError(t, os.Chtimes(filepath.Join(dst, "a"), long, long))
			}
			o := tc.o
			o.Target, o.Progress, o.Request = dst, &Counters{}, "r"
			// The fifth file: the mark, d/c, d/e, a and then b. Kopia lists folders first.
			o.wrap = (&trigger{n: 5, only: "create open", do: func(string, string) error { return boom }}).target
			_, err := r.Restore(ctx, up.Snapshot, o)
			require.ErrorIs(t, err, boom)
			b, err := os.ReadFile(filepath.Join(dst, "a"))
			require.NoError(t, err)
			require.Equal(t, "content of a", string(b))

			o.wrap, o.Request, o.Progress = nil, tc.again, &Counters{}
			out, err := r.Restore(ctx, up.Snapshot, o)
			require.NoError(t, err)
			assert.Equal(t, tc.skipped, out.Skipped)
			got, want := facts(t, dst), facts(t, src)
			assert.Len(t, got, len(want), "no mark is left: %v", got)
			for p := range want {
				assert.Equal(t, want[p].content, got[p].content, p)
				assert.Equal(t, want[p].mode, got[p].mode, p)
			}
		})
	}
}
