// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheStoresClockIsRead(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for name, off := range map[string]time.Duration{"behind": -17 * time.Minute, "ahead": 17 * time.Minute, "right": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := s3Server(t, false, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", time.Now().Add(-off).UTC().Format(http.TimeFormat))
					h.ServeHTTP(w, r)
				})
			})
			got, ok := connection(t, Storage{S3: &s}).ReadClock(ctx)
			require.True(t, ok)
			assert.InDelta(t, off.Minutes(), got.Skew().Minutes(), 0.1)
			assert.Equal(t, off != 0, got.Excessive())
		})
	}
}

func TestAStoreThatDoesNotTellItsTime(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, ok := connection(t, folder(t)).ReadClock(ctx)
	assert.False(t, ok, "a local folder has the mover's clock")
	_, ok = connection(t, Storage{S3: &S3{Endpoint: "127.0.0.1:1", DisableTLS: true}}).ReadClock(ctx)
	assert.False(t, ok)
}

func TestAFileServersClockIsRead(t *testing.T) {
	t.Parallel()
	f := Filesystem{Path: t.TempDir()}
	got, ok := f.readClock(func() time.Time { return time.Now().Add(time.Hour) })
	require.True(t, ok)
	assert.InDelta(t, 60, got.Skew().Minutes(), 0.1)
	left, err := os.ReadDir(f.Path)
	require.NoError(t, err)
	assert.Empty(t, left, "the file is gone again")
	_, ok = Filesystem{Path: f.Path + "/missing"}.readClock(time.Now)
	assert.False(t, ok)
	assert.True(t, isLeftover(clockFile+"123"), "one that a killed mover left does not make a folder occupied")
}

func TestClockReadingInWords(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	c := ClockReading{Mover: noon, Store: noon.Add(17*time.Minute + 20*time.Second)}
	assert.Equal(t, "the mover's clock is 17 minutes behind the store's: 2026-03-05 12:00Z here, 2026-03-05 12:17Z there", c.String())
	c.Mover, c.Store = c.Store, c.Mover
	assert.Equal(t, "the mover's clock is 17 minutes ahead of the store's", c.Difference())
}
