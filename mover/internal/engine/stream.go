// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/compression"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/snapshotfs"
)

// StreamUpload stores what a reader gives as a snapshot of one file.
type StreamUpload struct {
	Identity    Identity
	FileName    string
	Description string
	Tags        map[string]string
	Pinned      bool
	Compression string
	Parallel    int
	Progress    *Counters
	// Body is stored up to its io.EOF. Any other error abandons the session: nothing of it exists afterwards.
	Body io.Reader
}

const (
	streamFileMode = 0o600
	streamDirMode  = 0o700
	// maxAsyncWrites bounds the pieces of one stream that are hashed, compressed and packed beside one another.
	maxAsyncWrites = 4
)

// UploadStream stores a stream the way `kopia snapshot create --stdin-file` does: a folder with one file. There are no
// checkpoints: half a dump is of no use, and the next one has other bytes in other places.
func (r *Repository) UploadStream(ctx context.Context, u StreamUpload) (Uploaded, error) {
	if err := checkName(u.FileName); err != nil {
		return Uploaded{}, fmt.Errorf("%w: %w", ErrInvalidOption, err)
	}
	var (
		saved *snapshot.Manifest
		out   Uploaded
	)
	err := r.write(ctx, "store a stream", func(n int64) { out.BytesUploaded += n }, func(ctx context.Context, w repo.RepositoryWriter) error {
		src := u.Identity.source()
		if err := ensureKeepAll(ctx, w, src); err != nil {
			return err
		}
		begin := fs.UTCTimestampFromTime(r.clock())
		id, size, err := copyToObject(ctx, w, u)
		if err != nil {
			return err
		}
		saved, err = saveStream(ctx, w, u, begin, fs.UTCTimestampFromTime(r.clock()), id, size)
		return err
	})
	if err != nil {
		return out, err
	}
	out.Snapshot = snapshotOf(saved)
	out.FilesNew, out.BytesHashed = 1, out.Snapshot.Size
	return out, nil
}

func copyToObject(ctx context.Context, w repo.RepositoryWriter, u StreamUpload) (object.ID, int64, error) {
	ow := w.NewObjectWriter(ctx, object.WriterOptions{
		Description: "STREAM:" + u.FileName,
		Compressor:  compressorNamed(u.Compression), MetadataCompressor: metadataCompressor,
		AsyncWrites: min(u.Parallel, maxAsyncWrites),
	})
	defer ow.Close()
	var size int64
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	for {
		if err := context.Cause(ctx); err != nil {
			return object.EmptyID, 0, fmt.Errorf("%w: %w", ErrSource, err)
		}
		n, rerr := u.Body.Read(buf[:])
		if n > 0 {
			if _, err := ow.Write(buf[:n]); err != nil {
				return object.EmptyID, 0, fmt.Errorf("%w: %w", ErrStorage, err)
			}
			size += int64(n)
			u.Progress.Bytes.Add(int64(n))
		}
		if errors.Is(rerr, io.EOF) {
			break
		}
		if rerr != nil {
			return object.EmptyID, 0, fmt.Errorf("%w: %w", ErrSource, rerr)
		}
	}
	u.Progress.Files.Add(1)
	id, err := ow.Result()
	if err != nil {
		return object.EmptyID, 0, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return id, size, nil
}

func saveStream(ctx context.Context, w repo.RepositoryWriter, u StreamUpload, begin, end fs.UTCTimestamp, id object.ID, size int64) (*snapshot.Manifest, error) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid()) //nolint:gosec // an id of a process is not negative on Linux
	var dir snapshotfs.DirManifestBuilder
	dir.AddEntry(&snapshot.DirEntry{
		Name: u.FileName, Type: snapshot.EntryTypeFile, Permissions: streamFileMode, FileSize: size,
		ModTime: end, UserID: uid, GroupID: gid, ObjectID: id,
	})
	m := dir.Build(end, "")
	root, err := snapshotfs.WriteDirManifest(ctx, w, "", m, metadataCompressor)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	man := &snapshot.Manifest{
		Source: u.Identity.source(), Description: u.Description, StartTime: begin, EndTime: end, Tags: prefixed(u.Tags),
		Stats: snapshot.Stats{TotalFileSize: size, TotalFileCount: 1, NonCachedFiles: 1, TotalDirectoryCount: 1},
		RootEntry: &snapshot.DirEntry{
			Name: path.Base(u.Identity.Path), Type: snapshot.EntryTypeDirectory, Permissions: streamDirMode,
			ModTime: end, UserID: uid, GroupID: gid, ObjectID: root, DirSummary: m.Summary,
		},
	}
	if u.Pinned {
		man.UpdatePins([]string{ownPin}, nil)
	}
	if _, err := snapshot.SaveSnapshot(ctx, w, man); err != nil {
		return nil, fmt.Errorf("%w: save snapshot: %w", ErrStorage, err)
	}
	return man, nil
}

// metadataCompressor is kopia's default for folders.
const metadataCompressor compression.Name = "zstd-fastest"

// compressorNamed is kopia's name for a user's choice: "none" is no name to it.
func compressorNamed(name string) compression.Name {
	switch name {
	case "none":
		return ""
	case "":
		return DefaultCompression
	default:
		return compression.Name(name)
	}
}

// prefixed are tags as kopia stores them.
func prefixed(tags map[string]string) map[string]string {
	out := make(map[string]string, len(tags))
	for k, v := range tags {
		out[tagPrefix+k] = v
	}
	return out
}

// Content is an open file of a snapshot.
type Content struct {
	io.ReadCloser

	Size int64
}

// OpenFile opens the one file that a view of a snapshot shows, see Part.
func (r *Repository) OpenFile(ctx context.Context, s Snapshot) (Content, error) {
	if s.manifest == nil || s.manifest.RootEntry == nil {
		return Content{}, fmt.Errorf("open %s: %w", s.ID, errNoRoot)
	}
	e := s.manifest.RootEntry
	if e.Type != snapshot.EntryTypeFile {
		return Content{}, fmt.Errorf("%w: %q is no file", ErrNotInSnapshot, e.Name)
	}
	rd, err := r.rep.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return Content{}, storageError("open content", err)
	}
	return Content{ReadCloser: rd, Size: e.FileSize}, nil
}

// File is the view of one file by its path. A snapshot of a single file is that file, whatever folder it came from.
func (r *Repository) File(ctx context.Context, s Snapshot, name string) (Snapshot, error) {
	if s.manifest != nil && s.manifest.RootEntry != nil && s.manifest.RootEntry.Type == snapshot.EntryTypeFile && s.manifest.RootEntry.Name == name {
		return s, nil
	}
	return r.Part(ctx, s, name)
}
