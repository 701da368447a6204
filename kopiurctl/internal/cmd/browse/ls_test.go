// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package browse

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/apis/work"
)

func TestMode(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		kind string
		mode fs.FileMode
	}{
		"-rw-r-----": {"file", 0o640},
		"-rwsr-xr-x": {"file", 0o755 | fs.ModeSetuid},
		"-rwSr--r--": {"file", 0o644 | fs.ModeSetuid},
		"-rwxr-sr-x": {"file", 0o755 | fs.ModeSetgid},
		"drwxrwxrwt": {"directory", 0o777 | fs.ModeDir | fs.ModeSticky},
		"drwxrws--T": {"directory", 0o770 | fs.ModeDir | fs.ModeSticky | fs.ModeSetgid},
		"lrwxrwxrwx": {"symlink", 0o777 | fs.ModeSymlink},
	} {
		assert.Equal(t, want, mode(work.BrowseEntry{Type: tc.kind, Mode: tc.mode.String()}))
	}
	assert.Equal(t, "odd", mode(work.BrowseEntry{Mode: "odd"}))
}
