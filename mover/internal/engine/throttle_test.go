// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/throttling"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noting is a throttle that lets everything pass and remembers it.
type noting struct {
	operations []string
	up, down   int64
}

func (n *noting) BeforeOperation(_ context.Context, op string) {
	n.operations = append(n.operations, op)
}
func (n *noting) AfterOperation(context.Context, string)               {}
func (n *noting) BeforeDownload(_ context.Context, bytes int64)        { n.down += bytes }
func (n *noting) ReturnUnusedDownloadBytes(_ context.Context, b int64) { n.down -= b }
func (n *noting) BeforeUpload(_ context.Context, bytes int64)          { n.up += bytes }

// E-10: whatever an operation does to its store passes the throttle, and is charged for the bytes that it is.
func TestTheThrottleSeesEveryCall(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	plain, err := folder(t).open(ctx)
	require.NoError(t, err)
	n := &noting{}
	var st blob.Storage = &throttled{Storage: throttling.NewWrapper(plain, n), plain: plain, t: n}
	data := &blobBuffer{}
	_, _ = data.Write(make([]byte, 1000))
	require.NoError(t, st.PutBlob(ctx, "p1", data, blob.PutOptions{}))
	_, err = st.GetMetadata(ctx, "p1")
	require.NoError(t, err)
	require.NoError(t, st.ListBlobs(ctx, "p", func(blob.Metadata) error { return nil }))
	require.NoError(t, st.GetBlob(ctx, "p1", 0, -1, &blobBuffer{}))
	require.NoError(t, st.GetBlob(ctx, "p1", 100, 50, &blobBuffer{}))
	require.NoError(t, st.DeleteBlob(ctx, "p1"))
	assert.Equal(t, []string{"PutBlob", "GetMetadata", "ListBlobs", "GetBlob", "GetBlob", "DeleteBlob"}, n.operations)
	assert.Equal(t, int64(1000), n.up)
	assert.Equal(t, int64(1050), n.down)
}
