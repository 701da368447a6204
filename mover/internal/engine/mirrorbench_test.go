// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/stretchr/testify/require"
)

// E-11: BenchmarkMirror measures M9: copying many blobs between two stores of which each answers after 20 ms. The figure of
// interest is the share of what the latency allows, parallelism ÷ latency. On a busy machine the stores, which are in
// this process, need longer than that: of-the-answers is the share of what the time of their answers allowed, and what is
// missing there is ours. BLOBS=27000 is the full size.
func BenchmarkMirror(b *testing.B) {
	latency := 20 * time.Millisecond
	if d, err := time.ParseDuration(os.Getenv("LATENCY")); err == nil {
		latency = d
	}
	blobs := 2000
	if n, err := strconv.Atoi(os.Getenv("BLOBS")); err == nil {
		blobs = n
	}
	var answers, spent atomic.Int64
	slow := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			time.Sleep(latency)
			h.ServeHTTP(w, r)
			answers.Add(1)
			spent.Add(int64(time.Since(start)))
		})
	}
	from, _ := s3Server(b, false, slow)
	from.Prefix = ""
	c, r := created(b, Storage{S3: &from})
	st, err := c.Storage.open(b.Context())
	require.NoError(b, err)
	fill(b, st, blobs)
	for _, parallel := range []int{8, 32} {
		b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
			for b.Loop() {
				to, _ := s3Server(b, false, slow)
				m := mirrorTo(Storage{S3: &to})
				m.Parallel = parallel
				answers.Store(0)
				spent.Store(0)
				start := time.Now()
				out, err := r.Mirror(b.Context(), m)
				require.NoError(b, err)
				rate := float64(out.Copied.Blobs) / time.Since(start).Seconds()
				b.ReportMetric(rate, "blobs/s")
				b.ReportMetric(rate*latency.Seconds()/float64(parallel), "of-the-latency")
				mean := time.Duration(spent.Load() / answers.Load())
				b.ReportMetric(rate*mean.Seconds()/float64(parallel), "of-the-answers")
			}
		})
	}
}

// fill adds blobs that look like packs, many at a time.
func fill(tb testing.TB, st blob.Storage, n int) {
	tb.Helper()
	buf := &blobBuffer{}
	_, _ = buf.Write(make([]byte, 1<<10))
	todo, failed := make(chan int), make(chan error, 64)
	for range 64 {
		go func() {
			var err error
			for i := range todo {
				if perr := st.PutBlob(tb.Context(), blob.ID(fmt.Sprintf("p%032x", i)), buf, blob.PutOptions{}); perr != nil {
					err = perr
				}
			}
			failed <- err
		}()
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	for range 64 {
		require.NoError(tb, <-failed)
	}
}
