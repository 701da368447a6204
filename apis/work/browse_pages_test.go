// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// listed is the answer to a list, as a session gives it.
func listed(t *testing.T, status *work.Status, pages ...work.BrowsePage) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	out := work.NewDataWriter(&b)
	for _, p := range pages {
		text, err := json.Marshal(p)
		require.NoError(t, err)
		_, err = out.Write(text)
		require.NoError(t, err)
	}
	if status != nil {
		require.NoError(t, out.Finish(*status))
	}
	return &b
}

func page(n int, names ...string) work.BrowsePage {
	p := work.BrowsePage{Number: n}
	for _, name := range names {
		p.Entries = append(p.Entries, work.BrowseEntry{Name: name})
	}
	return p
}

func TestReadBrowsePages(t *testing.T) {
	t.Parallel()
	ok := &work.Status{}
	broken := func(text string) *bytes.Buffer {
		var b bytes.Buffer
		out := work.NewDataWriter(&b)
		_, err := out.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, out.Finish(work.Status{}))
		return &b
	}
	for name, tc := range map[string]struct {
		answer *bytes.Buffer
		names  []string
		err    error
	}{
		"two pages":                   {listed(t, ok, page(1, "a", "b"), page(2, "c")), []string{"a", "b", "c"}, nil},
		"an empty folder":             {listed(t, ok, page(1)), nil, nil},
		"cut behind a page":           {listed(t, nil, page(1, "a")), []string{"a"}, work.ErrNoStatus},
		"cut before the first":        {listed(t, nil), nil, work.ErrNoStatus},
		"no page at all":              {listed(t, ok), nil, work.ErrBadFrame},
		"a page is missing":           {listed(t, ok, page(1, "a"), page(3, "c")), []string{"a"}, work.ErrBadFrame},
		"a page that is cut":          {broken(`{"number":1,"entries":[`), nil, work.ErrBadFrame},
		"no page, but something else": {broken(`"hello"`), nil, work.ErrBadFrame},
		"no JSON":                     {broken(`hello`), nil, work.ErrBadFrame},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			err := work.ReadBrowsePages(tc.answer, func(p work.BrowsePage) error {
				for _, e := range p.Entries {
					names = append(names, e.Name)
				}
				return nil
			})
			require.ErrorIs(t, err, tc.err)
			assert.Equal(t, tc.names, names)
		})
	}
	var failed *work.StatusError
	err := work.ReadBrowsePages(listed(t, &work.Status{ExitCode: work.ExitPermanent, Code: work.CodeNotFound}), func(work.BrowsePage) error { return nil })
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, work.CodeNotFound, failed.Status.Code)
	enough := errors.New("enough")
	require.ErrorIs(t, work.ReadBrowsePages(listed(t, ok, page(1)), func(work.BrowsePage) error { return enough }), enough)
}
