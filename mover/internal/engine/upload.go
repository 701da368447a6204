// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/compression"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/kopia/kopia/snapshot/upload"
)

// Upload is one backup.
type Upload struct {
	Identity    Identity
	Path        string
	Description string
	// Tags go on the complete snapshot only. A checkpoint carries none, so that it is never taken for the result of the
	// request it was made for.
	Tags map[string]string
	// Pinned puts Kopiur's pin on the complete snapshot.
	Pinned bool
	Policy UploadPolicy
	// FailFast ends the upload at the first entry that cannot be read.
	FailFast bool
	MaxBytes int64
	// Checkpoint is the time between checkpoints; zero means kopia's own.
	Checkpoint time.Duration
	Parallel   int
	Progress   *Counters
	// Soft ends the upload early and cleanly: what is stored by then is saved as a checkpoint, which the next attempt
	// builds on. The context of the call stays the hard limit.
	Soft context.Context //nolint:containedctx // a second, softer deadline of the same call

	// wrap stands between the source and kopia in tests, wrapFS between the system and the source.
	wrap   func(fs.Directory) fs.Directory
	wrapFS func(sourceFS) sourceFS
	// wrapDevice stands between a device and the upload.
	wrapDevice func(sourceDevice) sourceDevice
}

// UploadPolicy is the part of kopia's policy that one run uses. It is not stored.
type UploadPolicy struct {
	Compression        string
	NeverCompress      []string
	IgnoreRules        []string
	IgnoreCacheDirs    *bool
	IgnoreIdentical    bool
	IgnoreFileErrors   bool
	IgnoreDirErrors    bool
	IgnoreUnknownTypes *bool
}

// Uploaded is the outcome of an Upload.
type Uploaded struct {
	// Snapshot is what was saved; its ID is empty where nothing was.
	Snapshot  Snapshot
	Unchanged bool

	FilesNew, FilesModified, FilesUnchanged int64
	BytesHashed, BytesUploaded              int64
	Unstored                                Unstored
	// Vanished counts entries that were deleted after they were listed.
	Vanished int64
}

// Upload stores a source. An interrupted upload returns ErrInterrupted beside what it has counted; the repository is
// consistent in every case, because kopia publishes a snapshot as its last step.
func (r *Repository) Upload(ctx context.Context, u Upload) (Uploaded, error) {
	counts := newSourceCounts()
	counts.strict = u.Policy.IgnoreUnknownTypes != nil && !*u.Policy.IgnoreUnknownTypes
	root, err := openSource(u.Path, u.wrapFS, counts)
	if err != nil {
		return Uploaded{}, err
	}
	defer root.src.close()
	var (
		uploaded atomic.Int64
		out      Uploaded
		saved    *snapshot.Manifest
	)
	err = r.write(ctx, "upload", func(n int64) { uploaded.Add(n) }, func(ctx context.Context, w repo.RepositoryWriter) error {
		var err error
		saved, err = r.uploadInSession(ctx, w, u, root, &out)
		return err
	})
	out.Unstored, out.Vanished = counts.result(), counts.vanished.Load()
	out.FilesNew, out.FilesModified = counts.newFiles.Load(), counts.modified.Load()
	out.BytesHashed, out.BytesUploaded = u.Progress.hashed.Load(), uploaded.Load()
	if err != nil {
		out.Snapshot = Snapshot{} // the session was not flushed: nothing of it exists
		return out, err
	}
	if saved != nil {
		out.Snapshot = snapshotOf(saved)
		if lost := out.Snapshot.Failed + out.Snapshot.Tolerated - out.Unstored.UnsupportedNames - out.Unstored.Refused; lost > out.Unstored.Unreadable {
			out.Unstored.Unreadable = lost // refused by kopia without asking the source
		}
		if !out.Snapshot.Complete() {
			return out, interrupted(u, out)
		}
	}
	return out, nil
}

// interrupted says why an upload did not get to its end: kopia reports fail-fast as a cancellation, too.
func interrupted(u Upload, out Uploaded) error {
	switch {
	case out.Snapshot.Incomplete == upload.IncompleteReasonLimitReached:
		return fmt.Errorf("upload: %w: %w", ErrInterrupted, ErrUploadLimit)
	case u.FailFast && len(out.Unstored.Paths) == 0 && out.Vanished > 0:
		return fmt.Errorf("upload: %w: an entry was deleted while it was read", ErrSource)
	case u.FailFast && len(out.Unstored.Paths) > 0 && (u.Soft == nil || u.Soft.Err() == nil):
		f := out.Unstored.Paths[0]
		return fmt.Errorf("upload: %w: %s: %w", ErrSource, f.Path, f.Cause)
	default:
		return fmt.Errorf("upload: %w", ErrInterrupted)
	}
}

func (r *Repository) uploadInSession(ctx context.Context, w repo.RepositoryWriter, u Upload, root *sourceDir, out *Uploaded) (*snapshot.Manifest, error) {
	src := u.Identity.source()
	if err := ensureKeepAll(ctx, w, src); err != nil {
		return nil, err
	}
	prev, err := previousManifests(ctx, w, src)
	if err != nil {
		return nil, err
	}
	tree, err := policy.TreeForSourceWithOverride(ctx, w, src, u.Policy.kopia())
	if err != nil {
		return nil, fmt.Errorf("%w: read policies of %s: %w", ErrStorage, src, err)
	}
	root.src.prev = previousDirs(w, prev)
	root.src.counts.plainSince = plainSince(prev)
	root.src.counts.attributes(&root.sourceEntry)

	guarded := &uploadWriter{RepositoryWriter: w, holes: &root.src.holes, splitter: r.rep.ObjectFormat().Splitter}
	up := upload.NewUploader(guarded)
	guarded.onFault = up.Cancel
	up.EnableActions = false // hooks are the controller's; an action in a repository would be somebody else's command
	up.ParallelUploads = max(u.Parallel, 1)
	up.FailFast = u.FailFast
	up.MaxUploadBytes = u.MaxBytes
	up.Progress = &uploadProgress{c: u.Progress}
	if u.Checkpoint > 0 {
		up.CheckpointInterval = min(u.Checkpoint, upload.DefaultCheckpointInterval)
	}
	if u.Soft != nil {
		defer context.AfterFunc(u.Soft, up.Cancel)()
	}
	var dir fs.Directory = root
	if u.wrap != nil {
		dir = u.wrap(dir)
	}
	stop := r.estimate(ctx, u, tree, prev)
	m, err := up.Upload(ctx, dir, tree, src, prev...)
	guarded.shut()
	stop()
	if fault := guarded.failed(); fault != nil {
		return nil, fmt.Errorf("upload %s: %w: %w", src, ErrStorage, fault)
	}
	if err != nil {
		// Kopia returns the bare cause. The only part of the source it fails for is the root; all else is the store.
		cause := ErrStorage
		if atomic.LoadUint32(&root.faulted) != 0 {
			cause = ErrSource
		}
		return nil, fmt.Errorf("upload %s: %w: %w", src, cause, err)
	}
	out.FilesUnchanged = int64(m.Stats.CachedFiles)
	if m.RootEntry != nil {
		root.src.counts.forgive(m.RootEntry)
	}
	u.Tags = withUnstored(u.Tags, root.src.counts.result())
	return r.save(ctx, w, u, m, prev, out)
}

func previousManifests(ctx context.Context, w repo.RepositoryWriter, src snapshot.SourceInfo) ([]*snapshot.Manifest, error) {
	prev, err := snapshot.FindPreviousManifests(ctx, w, src, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: look for earlier snapshots of %s: %w", ErrStorage, src, err)
	}
	return slices.DeleteFunc(prev, func(m *snapshot.Manifest) bool { return m.RootEntry == nil }), nil // kopia would panic
}

// save decides whether and how the outcome of an upload is stored.
func (r *Repository) save(ctx context.Context, w repo.RepositoryWriter, u Upload, m *snapshot.Manifest, prev []*snapshot.Manifest, out *Uploaded) (*snapshot.Manifest, error) {
	m.Description = u.Description
	tags := map[string]string{}
	for k, v := range u.Tags {
		tags[tagPrefix+k] = v
	}
	if m.IncompleteReason != "" {
		if m.RootEntry == nil {
			return nil, fmt.Errorf("upload %s: %w", m.Source, ErrInterrupted)
		}
		tags = nil
	} else if u.Policy.IgnoreIdentical && isIdentical(m, prev) {
		out.Unchanged = true
		return nil, nil //nolint:nilnil // nothing saved, and no fault
	}
	m.Tags = tags
	if u.Pinned && m.IncompleteReason == "" {
		m.UpdatePins([]string{ownPin}, nil)
	}
	if _, err := snapshot.SaveSnapshot(ctx, w, m); err != nil {
		return nil, fmt.Errorf("save snapshot: %w", err)
	}
	if m.IncompleteReason == "" {
		if err := dropIncomplete(ctx, w, m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// isIdentical compares with the newest complete snapshot. One that lacks entries is never "unchanged": its fault would
// go unreported.
func isIdentical(m *snapshot.Manifest, prev []*snapshot.Manifest) bool {
	if s := m.RootEntry.DirSummary; s != nil && s.FatalErrorCount > 0 {
		return false
	}
	for _, p := range prev {
		if p.IncompleteReason == "" {
			return p.RootObjectID() == m.RootObjectID()
		}
	}
	return false
}

func (p UploadPolicy) kopia() *policy.Policy {
	out := &policy.Policy{
		RetentionPolicy: keepAll(),
		FilesPolicy:     policy.FilesPolicy{IgnoreRules: p.IgnoreRules, IgnoreCacheDirectories: optional(p.IgnoreCacheDirs)},
		CompressionPolicy: policy.CompressionPolicy{
			CompressorName: compression.Name(or(p.Compression, DefaultCompression)), NeverCompress: sorted(p.NeverCompress),
		},
		ErrorHandlingPolicy: policy.ErrorHandlingPolicy{
			IgnoreFileErrors:      policy.NewOptionalBool(policy.OptionalBool(p.IgnoreFileErrors)),
			IgnoreDirectoryErrors: policy.NewOptionalBool(policy.OptionalBool(p.IgnoreDirErrors)),
			IgnoreUnknownTypes:    optional(p.IgnoreUnknownTypes),
		},
	}
	return out
}

// IsCompression reports whether kopia knows a compressor by this name.
func IsCompression(name string) bool {
	_, ok := compression.ByName[compression.Name(name)]
	return ok || name == "none"
}

// ErrUploadLimit is the end of a run at the user's limit.
var ErrUploadLimit = errors.New("the upload limit of this run is reached")

// errNoRoot is a manifest without content, which only a damaged repository holds.
var errNoRoot = errors.New("the snapshot has no content")
