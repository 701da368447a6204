// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"
	"golang.org/x/sys/unix"
)

// Cache says where kopia may keep what, and how much of it at most. An empty Dir means no cache.
type Cache struct {
	Dir          string
	ContentBytes int64
	// MetadataBytes is for folders and for index blobs, half each.
	MetadataBytes int64
	// Once says that content is read once. Kopia syncs every piece that it caches, and cannot be told to cache folders and no
	// content: what it keeps of content is then a few pieces in memory, and the room on the volume is used to read ahead.
	Once bool
	// Advise is told, in a sentence for the user, when the cache cannot be used.
	Advise func(sentence string)
}

const (
	// minCacheBytes is the floor of each cache: below it kopia reads the same index again for every directory.
	minCacheBytes = 32 << 20
	// memoryContents bounds the pieces that are kept in memory, which is the pod's.
	memoryContents = 8 << 20
	contentsDir    = "contents"
	// sweepAge is how young what a cache holds may be and still go. Kopia spares what is younger than a day, and its cache
	// of index blobs has no other limit: it fills a volume in an hour (G-1).
	sweepAge = time.Minute
)

// options are hard limits: without the Limit fields kopia only sweeps what is old, and one large restore fills the
// volume (G-1). Kopia bounds its cache of index blobs by the size of that of metadata.
func (c Cache) options() *content.CachingOptions {
	if c.Dir == "" {
		return &content.CachingOptions{}
	}
	data, meta := max(c.ContentBytes, minCacheBytes), max(c.MetadataBytes/2, minCacheBytes)
	if c.Once {
		data = memoryContents
	}
	return &content.CachingOptions{
		CacheDirectory:        c.Dir,
		ContentCacheSizeBytes: data, ContentCacheSizeLimitBytes: data,
		MetadataCacheSizeBytes: meta, MetadataCacheSizeLimitBytes: meta,
		MinMetadataSweepAge: content.DurationSeconds(sweepAge.Seconds()),
		MinIndexSweepAge:    content.DurationSeconds((10 * sweepAge).Seconds()),
	}
}

// place puts what kopia caches of content into memory where that was asked for, and takes away what an earlier mover, which
// may have been killed, has left there: kopia does not open a cache whose folder is a link to nothing.
func (c Cache) place(memory string) error {
	if c.Dir == "" {
		return nil
	}
	at := filepath.Join(c.Dir, contentsDir)
	if st, err := os.Lstat(at); err == nil && (c.Once || !st.IsDir()) {
		if err := os.RemoveAll(at); err != nil {
			return &fs.PathError{Op: "prepare", Path: at, Err: err}
		}
	}
	if !c.Once {
		return nil
	}
	to, err := filepath.Abs(filepath.Join(memory, contentsDir))
	if err == nil {
		err = os.RemoveAll(to)
	}
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	if err == nil {
		err = os.Symlink(to, at)
	}
	if err != nil {
		return &fs.PathError{Op: "prepare", Path: at, Err: err} // of the cache, which can be done without
	}
	return nil
}

// leave takes the memory back.
func (c Cache) leave(memory string) {
	if c.Once && c.Dir != "" {
		_ = os.Remove(filepath.Join(c.Dir, contentsDir))
		_ = os.RemoveAll(filepath.Join(memory, contentsDir))
	}
}

// ahead is the connection to a store of which is read ahead.
func (c Cache) ahead(ci blob.ConnectionInfo) blob.ConnectionInfo {
	if !c.Once || c.Dir == "" {
		return ci
	}
	return blob.ConnectionInfo{Type: packType, Config: &readAheadOptions{Storage: ci, Dir: c.Dir, Limit: c.ContentBytes}}
}

// usable looks at the cache before kopia does, and empties it once when it is full. Where it cannot be used the work goes
// on without: a cache is only there to be quick (G-2, G-3, J-8).
func (c Cache) usable() Cache {
	if c.Dir == "" {
		return c
	}
	err := c.probe()
	if isFull(err) {
		c.advise("the cache volume was full and has been emptied; give it more room if this happens again (mover.cache.capacity)")
		if eerr := EmptyCache(c.Dir); eerr == nil {
			err = c.probe()
		}
	}
	if err != nil {
		return c.without(err)
	}
	return c
}

// probe writes what a small index takes, and asks for every part that is there already.
func (c Cache) probe() error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return err //nolint:wrapcheck // turned into a sentence
	}
	for _, e := range entries {
		if e.IsDir() && kopiaCaches[e.Name()] {
			path := filepath.Join(c.Dir, e.Name())
			if err := unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
				return &fs.PathError{Op: "use", Path: path, Err: err}
			}
		}
	}
	f, err := os.CreateTemp(c.Dir, ".kopiur-probe-")
	if err != nil {
		return err //nolint:wrapcheck // turned into a sentence
	}
	_, err = f.Write(make([]byte, probeBytes))
	if serr := f.Sync(); err == nil {
		err = serr
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return err //nolint:wrapcheck // turned into a sentence
}

const probeBytes = 256 << 10

// kopiaCaches are the folders that kopia makes in its cache.
var kopiaCaches = map[string]bool{contentsDir: true, "metadata": true, "indexes": true, "index-blobs": true, "blob-list": true, "own-writes": true}

// without is no cache, and the reason.
func (c Cache) without(err error) Cache {
	const slower = "; the mover works without a cache, which makes it slower; "
	switch {
	case isFull(err):
		c.advise("the cache volume is full, also after it was emptied" + slower + "give it more room (mover.cache.capacity)")
	case errors.Is(err, syscall.EROFS):
		c.advise("the cache volume is mounted read-only" + slower + "mount it writable, or leave mover.cache out")
	case errors.Is(err, fs.ErrPermission):
		c.advise(fmt.Sprintf("uid %d may not write to the cache volume, as on an NFS export with root_squash or where another uid has used it"+slower+
			"choose another class (mover.cache.storageClassName), or leave mover.cache out", os.Geteuid()))
	default:
		c.advise("the cache volume cannot be used: " + reasonOf(err) + slower + "look at the volume, or leave mover.cache out")
	}
	return Cache{}
}

func (c Cache) advise(sentence string) {
	if c.Advise != nil {
		c.Advise(sentence)
	}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// failed reports that an error is about the cache. A full disk may be the repository's as well; emptying the cache does
// no harm then.
func (c Cache) failed(err error) bool {
	if c.Dir == "" || err == nil {
		return false
	}
	if isFull(err) {
		return true
	}
	var at *fs.PathError
	return errors.As(err, &at) && strings.HasPrefix(at.Path, c.Dir+string(filepath.Separator))
}

// openWithCache opens the repository, once more with an empty cache, and at last without one.
func (c Connection) openWithCache(ctx context.Context) (*Repository, error) {
	c.Cache = c.Cache.usable()
	r, err := c.open(ctx)
	if !c.Cache.failed(err) {
		return r, err
	}
	if eerr := EmptyCache(c.Cache.Dir); eerr == nil {
		if r, err = c.open(ctx); !c.Cache.failed(err) {
			c.Cache.advise("the cache could not be used and has been emptied")
			return r, err
		}
	}
	cause := err
	c.Cache = c.Cache.without(cause)
	return c.open(ctx)
}

// EmptyCache removes what is in a directory, not the directory: it may be a mount.
func EmptyCache(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("empty the cache: %w", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("empty the cache: %w", err)
		}
	}
	return nil
}

// oldLogs are folders in which other movers kept their logs, beside the cache, until the volume was full (G-2).
var oldLogs = []string{"logs", "cli-logs", "content-logs"}

// DropOldLogs removes the logs that another mover has left in a cache volume. Kopiur writes none.
func DropOldLogs(dir string) {
	if dir == "" {
		return
	}
	for _, name := range oldLogs {
		_ = os.RemoveAll(filepath.Join(dir, name)) // the preflight tells what cannot be written
	}
}
