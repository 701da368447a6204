// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/compression"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/upload"
)

// UploadDevice stores a block device as one file, the image. It does not go through kopia's uploader, which would feed
// every zero of a thin volume to the splitter and the hash: equal blocks of zeros are one object, and an image is put
// together from objects. Anybody's kopia restores it.
func (r *Repository) UploadDevice(ctx context.Context, u Upload) (Uploaded, error) {
	dev, err := openSourceDevice(u.Path)
	if err != nil {
		return Uploaded{}, err
	}
	defer dev.Close()
	if u.wrapDevice != nil {
		dev = u.wrapDevice(dev)
	}
	u.Progress.TotalBytes.Store(dev.Size())
	u.Progress.TotalFiles.Store(1)
	var (
		uploaded atomic.Int64
		out      Uploaded
		saved    *snapshot.Manifest
	)
	err = r.write(ctx, "upload", func(n int64) { uploaded.Add(n) }, func(ctx context.Context, w repo.RepositoryWriter) error {
		var err error
		saved, err = r.uploadDeviceInSession(ctx, w, u, dev, &out)
		return err
	})
	out.BytesHashed, out.BytesUploaded = u.Progress.hashed.Load(), uploaded.Load()
	if err != nil {
		out.Snapshot = Snapshot{} // the session was not flushed: nothing of it exists
		return out, err
	}
	if saved != nil {
		out.Snapshot = snapshotOf(saved)
		if !out.Snapshot.Complete() {
			return out, interrupted(u, out)
		}
	}
	u.Progress.Files.Add(1)
	return out, nil
}

func (r *Repository) uploadDeviceInSession(ctx context.Context, w repo.RepositoryWriter, u Upload, dev sourceDevice, out *Uploaded) (*snapshot.Manifest, error) {
	src := u.Identity.source()
	if err := ensureKeepAll(ctx, w, src); err != nil {
		return nil, err
	}
	prev, err := previousManifests(ctx, w, src)
	if err != nil {
		return nil, err
	}
	d := newDeviceUpload(w, u, dev)
	m := d.manifest(src)
	if err := d.run(ctx, func(id object.ID, size int64) error { return d.checkpoint(ctx, *m, id, size) }); err != nil {
		return nil, err
	}
	m.IncompleteReason = d.stopped()
	id, size, err := d.whole(ctx)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fmt.Errorf("upload %s: %w", src, ErrInterrupted)
	}
	d.finish(m, id, size)
	switch {
	case m.IncompleteReason != "" || isIdentical(m, prev):
		out.FilesUnchanged = 1
	case len(prev) > 0:
		out.FilesModified = 1
	default:
		out.FilesNew = 1
	}
	return r.save(ctx, w, u, m, prev, out)
}

// deviceUpload is one device on its way into the repository, segment by segment.
type deviceUpload struct {
	u     Upload
	w     repo.RepositoryWriter
	dev   sourceDevice
	zeros zeroObjects

	next  atomic.Int64 // the segment that is to be read next
	limit atomic.Bool

	mu       sync.Mutex
	segments [][]object.ID // nil where it is not stored yet
	ready    int           // how many of the first segments are
	looked   time.Time     // when the last checkpoint was made
}

func newDeviceUpload(w repo.RepositoryWriter, u Upload, dev sourceDevice) *deviceUpload {
	n := (dev.Size() + deviceSegment - 1) / deviceSegment
	if u.Checkpoint <= 0 || u.Checkpoint > upload.DefaultCheckpointInterval {
		u.Checkpoint = upload.DefaultCheckpointInterval
	}
	d := &deviceUpload{u: u, w: w, dev: dev, segments: make([][]object.ID, n), looked: w.Time()}
	d.zeros.put = func(ctx context.Context, b []byte) (object.ID, error) {
		ow := d.writer(ctx)
		defer ow.Close()
		if _, err := ow.Write(b); err != nil {
			return object.EmptyID, err //nolint:wrapcheck // wrapped by the caller
		}
		return ow.Result() //nolint:wrapcheck // wrapped by the caller
	}
	d.zeros.join = d.join
	return d
}

func (d *deviceUpload) writer(ctx context.Context) object.Writer {
	return d.w.NewObjectWriter(ctx, object.WriterOptions{
		Description: "DEVICE", Splitter: deviceSplitter, AsyncWrites: 1,
		Compressor:         compression.Name(or(d.u.Policy.Compression, DefaultCompression)),
		MetadataCompressor: DefaultCompression,
	})
}

func (d *deviceUpload) join(ctx context.Context, ids []object.ID) (object.ID, error) {
	return d.w.ConcatenateObjects(ctx, ids, repo.ConcatenateOptions{Compressor: DefaultCompression}) //nolint:wrapcheck // wrapped by the caller
}

// stopped is why the device is not read to its end, in kopia's words, or "".
func (d *deviceUpload) stopped() string {
	switch {
	case d.limit.Load():
		return upload.IncompleteReasonLimitReached
	case d.u.Soft != nil && d.u.Soft.Err() != nil && d.readyBytes() < d.dev.Size():
		return upload.IncompleteReasonCanceled
	}
	return ""
}

func (d *deviceUpload) readyBytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(int64(d.ready)*deviceSegment, d.dev.Size())
}

// run stores all segments, or as many as there is time for.
func (d *deviceUpload) run(ctx context.Context, checkpoint func(object.ID, int64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range max(d.u.Parallel, 1) {
		wg.Go(func() {
			buf := make([]byte, deviceBlock)
			for {
				i := int(d.next.Add(1)) - 1
				if i >= len(d.segments) || ctx.Err() != nil || d.stopped() != "" {
					return
				}
				ids, err := d.segment(ctx, int64(i)*deviceSegment, buf)
				if errors.Is(err, errStopped) {
					return
				}
				if err == nil {
					err = d.done(ctx, i, ids, checkpoint)
				}
				if err != nil {
					cancel(err) // the first one wins
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

var errStopped = errors.New("stopped within a segment")

// segment stores one segment: runs of data as objects of their own, runs of zeros as what is stored already.
func (d *deviceUpload) segment(ctx context.Context, start int64, buf []byte) ([]object.ID, error) {
	end := min(start+deviceSegment, d.dev.Size())
	defer d.dev.Forget(start, end-start)
	var (
		ids   []object.ID
		data  object.Writer
		zeros int64
	)
	defer func() {
		if data != nil {
			_ = data.Close()
		}
	}()
	flush := func() error {
		if zeros > 0 {
			z, err := d.zeros.of(ctx, zeros)
			if err != nil {
				return writeError("store zeros", err)
			}
			ids, zeros = append(ids, z...), 0
		}
		if data != nil {
			id, err := data.Result()
			_ = data.Close()
			if data = nil; err != nil {
				return writeError("store a block", err)
			}
			ids = append(ids, id)
		}
		return nil
	}
	for off := start; off < end; {
		if d.u.Soft != nil && d.u.Soft.Err() != nil || ctx.Err() != nil {
			return nil, errStopped
		}
		b := buf[:min(deviceBlock, end-off)]
		hole := d.dev.NextData(off) >= off+int64(len(b))
		if !hole {
			if n, err := d.dev.ReadAt(b, off); n < len(b) {
				return nil, fmt.Errorf("%w: at byte %d of %d: %w", ErrSource, off+int64(n), d.dev.Size(), err)
			}
		}
		// A short last block is data: it would need zeros of a length of its own.
		zero := len(b) == deviceBlock && (hole || isZero(b))
		if (zero && data != nil) || (!zero && zeros > 0) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if zero {
			zeros++
		} else {
			if data == nil {
				data = d.writer(ctx)
			}
			if hole {
				clear(b)
			}
			if err := d.write(data, b); err != nil {
				return nil, err
			}
		}
		d.u.Progress.Bytes.Add(int64(len(b)))
		off += int64(len(b))
	}
	return ids, flush()
}

func (d *deviceUpload) write(data object.Writer, b []byte) error {
	if _, err := data.Write(b); err != nil {
		return writeError("store a block", err)
	}
	if n := d.u.Progress.hashed.Add(int64(len(b))); d.u.MaxBytes > 0 && n > d.u.MaxBytes {
		d.limit.Store(true)
	}
	return nil
}

// done takes note of a segment, and makes a checkpoint when it is time.
func (d *deviceUpload) done(ctx context.Context, i int, ids []object.ID, checkpoint func(object.ID, int64) error) error {
	d.mu.Lock()
	d.segments[i] = ids
	for d.ready < len(d.segments) && d.segments[d.ready] != nil {
		d.ready++
	}
	due := d.ready > 0 && d.w.Time().Sub(d.looked) >= d.u.Checkpoint
	if due {
		d.looked = d.w.Time()
	}
	d.mu.Unlock()
	if !due {
		return nil
	}
	id, size, err := d.whole(ctx)
	if err != nil {
		return err
	}
	return checkpoint(id, size)
}

// whole joins the first segments that are stored without a gap.
func (d *deviceUpload) whole(ctx context.Context) (object.ID, int64, error) {
	d.mu.Lock()
	var ids []object.ID
	for _, s := range d.segments[:d.ready] {
		ids = append(ids, s...)
	}
	size := min(int64(d.ready)*deviceSegment, d.dev.Size())
	d.mu.Unlock()
	if len(ids) == 0 {
		return object.EmptyID, 0, nil
	}
	id, err := d.join(ctx, ids)
	if err != nil {
		return object.EmptyID, 0, writeError("join the blocks", err)
	}
	return id, size, nil
}

// checkpoint keeps what is stored so far from being taken for garbage, and makes it durable.
func (d *deviceUpload) checkpoint(ctx context.Context, m snapshot.Manifest, id object.ID, size int64) error {
	m.IncompleteReason = upload.IncompleteReasonCheckpoint
	d.finish(&m, id, size)
	if _, err := snapshot.SaveSnapshot(ctx, d.w, &m); err != nil {
		return writeError("save a checkpoint", err)
	}
	if err := d.w.Flush(ctx); err != nil {
		return writeError("save a checkpoint", err)
	}
	return nil
}

func (d *deviceUpload) manifest(src snapshot.SourceInfo) *snapshot.Manifest {
	return &snapshot.Manifest{Source: src, StartTime: fs.UTCTimestampFromTime(d.w.Time())}
}

// finish fills in what was stored. The image is named after its source, and belongs to whoever made it: the owner of a
// device node is the node's business.
func (d *deviceUpload) finish(m *snapshot.Manifest, id object.ID, size int64) {
	m.EndTime = fs.UTCTimestampFromTime(d.w.Time())
	m.RootEntry = &snapshot.DirEntry{
		Name: imageName(m.Source.Path), Type: snapshot.EntryTypeFile, Permissions: 0o600, ObjectID: id, FileSize: size,
		ModTime: m.StartTime, UserID: uint32(os.Geteuid()), GroupID: uint32(os.Getegid()), //nolint:gosec // ids are not negative
	}
	m.Stats = snapshot.Stats{TotalFileCount: 1, TotalFileSize: size, NonCachedFiles: 1}
}

func imageName(source string) string {
	name := path.Base(source)
	if checkName(name) != nil {
		name = "device"
	}
	return name + ".img"
}

// zeroObjects holds objects of 1, 2, 4, 8 … blocks of zeros.
type zeroObjects struct {
	put  func(context.Context, []byte) (object.ID, error)
	join func(context.Context, []object.ID) (object.ID, error)

	mu     sync.Mutex
	ladder []object.ID
}

// of returns objects that together are n blocks of zeros.
func (z *zeroObjects) of(ctx context.Context, n int64) ([]object.ID, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	var ids []object.ID
	for step := 0; n > 0; step, n = step+1, n>>1 {
		if step == len(z.ladder) {
			var id object.ID
			var err error
			if step == 0 {
				id, err = z.put(ctx, zeroBlock[:])
			} else {
				id, err = z.join(ctx, []object.ID{z.ladder[step-1], z.ladder[step-1]})
			}
			if err != nil {
				return nil, err
			}
			z.ladder = append(z.ladder, id)
		}
		if n&1 == 1 {
			ids = append(ids, z.ladder[step])
		}
	}
	return ids, nil
}

// writeError marks what writing to the repository returned. Nothing is damaged by that.
func writeError(what string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrStorage, what, err)
}
