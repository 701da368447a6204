// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/throttling"
)

// Throttle limits one connection; zero means no limit.
type Throttle struct {
	UploadBytesPerSecond   int64
	DownloadBytesPerSecond int64
	ReadOpsPerSecond       int64
	WriteOpsPerSecond      int64
}

func (t Throttle) limits() *throttling.Limits {
	if t == (Throttle{}) {
		return nil
	}
	return &throttling.Limits{
		UploadBytesPerSecond:   float64(t.UploadBytesPerSecond),
		DownloadBytesPerSecond: float64(t.DownloadBytesPerSecond),
		ReadsPerSecond:         float64(t.ReadOpsPerSecond),
		WritesPerSecond:        float64(t.WriteOpsPerSecond),
	}
}

const (
	// The window and first filling of a throttle are those that kopia gives its own connections.
	throttleWindow = 60 * time.Second
	throttleFill   = 0.1
)

// throttled is a store behind a throttle. Kopia has one, and for a blob whose length it does not know it sets 20 MB aside
// before it asks: with a limit of 1 MB/s it waits twenty seconds for every index of a few hundred bytes. Here such a blob
// is paid for when it has come.
type throttled struct {
	blob.Storage // behind kopia's throttle

	plain blob.Storage
	t     throttling.Throttler
}

// behind puts a store behind a throttle.
func (t Throttle) behind(st blob.Storage) (blob.Storage, error) {
	limits := t.limits()
	if limits == nil {
		return st, nil
	}
	tr, err := throttling.NewThrottler(*limits, throttleWindow, throttleFill)
	if err != nil {
		return nil, fmt.Errorf("%w: throttle: %w", ErrInvalidOption, err)
	}
	return &throttled{Storage: throttling.NewWrapper(st, tr), plain: st, t: tr}, nil
}

func (s *throttled) GetBlob(ctx context.Context, id blob.ID, offset, length int64, output blob.OutputBuffer) error {
	if length >= 0 {
		return s.Storage.GetBlob(ctx, id, offset, length, output) //nolint:wrapcheck // kopia looks at it
	}
	const op = "GetBlob"
	s.t.BeforeOperation(ctx, op)
	defer s.t.AfterOperation(ctx, op)
	err := s.plain.GetBlob(ctx, id, offset, length, output)
	s.t.BeforeDownload(ctx, int64(output.Length()))
	return err //nolint:wrapcheck // kopia looks at it
}

// throttledType lets kopia open a store behind this throttle by its connection file.
const throttledType = "kopiur-throttled"

type throttledOptions struct {
	Storage  blob.ConnectionInfo `json:"storage"`
	Throttle Throttle            `json:"throttle"`
}

func init() {
	blob.AddSupportedStorage(throttledType, throttledOptions{}, func(ctx context.Context, o *throttledOptions, isCreate bool) (blob.Storage, error) {
		st, err := blob.NewStorage(ctx, o.Storage, isCreate)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says of what
		}
		return o.Throttle.behind(st)
	})
}

// wrap is the connection to a store behind the throttle.
func (t Throttle) wrap(ci blob.ConnectionInfo) blob.ConnectionInfo {
	if t.limits() == nil {
		return ci
	}
	return blob.ConnectionInfo{Type: throttledType, Config: &throttledOptions{Storage: ci, Throttle: t}}
}
