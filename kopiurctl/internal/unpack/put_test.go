// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Between the last look and the moment in which a file gets its name somebody else may have taken the place.
func TestWhatCameMeanwhileStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entry tar.Header
		force bool
		want  string
	}{
		"a file":                        {tar.Header{Typeflag: tar.TypeReg, Name: "notes", Mode: 0o600, Size: 6}, false, "mine"},
		"a link":                        {tar.Header{Typeflag: tar.TypeSymlink, Name: "notes", Linkname: "elsewhere"}, false, "mine"},
		"a file that is to be replaced": {tar.Header{Typeflag: tar.TypeReg, Name: "notes", Mode: 0o600, Size: 6}, true, "stored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d, err := open(Place{Dir: dir, Force: tc.force}, &tc.entry)
			require.NoError(t, err)
			defer d.close()
			require.NoError(t, d.take(&tc.entry, strings.NewReader("stored")))
			require.NoError(t, d.check())
			require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), []byte("mine"), 0o600))
			err = d.put()
			if tc.force {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrExists)
			}
			got, err := os.ReadFile(filepath.Join(dir, "notes"))
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(got))
		})
	}
}
