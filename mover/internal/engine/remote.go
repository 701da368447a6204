// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
)

// remote is a backend as the connect builder sees it. Filesystem and S3 are older than it, and are looked into in ways
// of their own.
type remote interface {
	// String names the place for messages; it holds nothing secret.
	String() string
	connectionInfo() blob.ConnectionInfo
	// probe asks the store what the place holds. Its errors are the store's own, wrapped in ErrStorage or
	// ErrLocationMissing where it is one of theirs.
	probe(ctx context.Context) (location, error)
	// address is the store and the place in it; two addresses of one store are apart unless one holds the other.
	address() address
	// clockURL answers with the store's time to anybody, "" where nothing does.
	clockURL() string
}

func (s Storage) remote() remote {
	switch {
	case s.Azure != nil:
		return s.Azure
	case s.GCS != nil:
		return s.GCS
	case s.B2 != nil:
		return s.B2
	case s.SFTP != nil:
		return s.SFTP
	case s.WebDAV != nil:
		return s.WebDAV
	case s.Rclone != nil:
		return s.Rclone
	case s.GDrive != nil:
		return s.GDrive
	default:
		return nil
	}
}

// address is a place of a store.
type address struct {
	store string
	// prefix of names, or the folder where folders is set.
	prefix  string
	folders bool
}

// overlaps reports that what is written to one place is found at the other.
func (a address) overlaps(b address) bool {
	switch {
	case a.store != b.store:
		return false
	case a.folders:
		return within(a.prefix, b.prefix) || within(b.prefix, a.prefix)
	default:
		return hasEither(a.prefix, b.prefix)
	}
}

// below names a place in a container of objects.
func below(name, prefix string) string {
	if prefix == "" {
		return name
	}
	return name + " below " + prefix
}

// errSeen ends a listing of a probe.
var errSeen = errors.New("enough was listed")

// probeObjects asks a store that has no folders what it holds, with kopia's own client: opening it lists the place once,
// and so tells whether it is there.
func probeObjects(ctx context.Context, s Storage) (location, error) {
	st, err := s.open(ctx)
	if err != nil {
		return location{}, err
	}
	defer st.Close(context.WithoutCancel(ctx))
	st = unretried(st)
	has := func(id blob.ID) (bool, error) {
		_, err := st.GetMetadata(ctx, id)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, blob.ErrBlobNotFound):
			return false, nil
		default:
			return false, answered(err)
		}
	}
	var loc location
	if loc.initialized, err = has(format.KopiaRepositoryBlobID); err != nil {
		return location{}, err
	}
	if loc.copying, err = has(copyMarkerID); err != nil || loc.initialized {
		return loc, err
	}
	err = st.ListBlobs(ctx, "", func(m blob.Metadata) error {
		switch m.BlobID {
		case format.KopiaBlobCfgBlobID:
			loc.begun = true
		case copyMarkerID:
		default:
			loc.found = string(m.BlobID)
			return errSeen
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSeen) {
		return location{}, answered(err)
	}
	loc.begun = loc.begun && loc.found == ""
	return loc, nil
}

// unretried is a store without the retries around it. Kopia repeats each request ten times, with pauses that do not end
// with their context, and then knows only that this one is over; the probe wants the store's own answer. Kopia hands out
// no other store than the wrapped one, so this looks below the wrapper; one that is not known is taken as it is.
func unretried(st blob.Storage) blob.Storage {
	v := reflect.ValueOf(st)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || v.Elem().Type().Name() != "retryingStorage" {
		return st
	}
	if below, ok := reflect.TypeAssert[blob.Storage](v.Elem().FieldByName("Storage")); ok {
		return below
	}
	return st
}

// promptType lets kopia open a store by its connection file in no longer than the context allows. Some of kopia's clients
// know of no context while they connect, and would wait for a silent server for ever.
const promptType = "kopiur-prompt"

type promptOptions struct {
	Storage blob.ConnectionInfo `json:"storage"`
}

func promptly(ci blob.ConnectionInfo) blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: promptType, Config: &promptOptions{Storage: ci}}
}

func init() {
	blob.AddSupportedStorage(promptType, promptOptions{}, func(ctx context.Context, o *promptOptions, isCreate bool) (blob.Storage, error) {
		return prompt(ctx, func() (blob.Storage, error) {
			st, err := blob.NewStorage(ctx, o.Storage, isCreate)
			return st, rcloneStart(err)
		})
	})
}

// prompt waits for a store to open until the context ends. A store that comes later is closed.
func prompt(ctx context.Context, open func() (blob.Storage, error)) (blob.Storage, error) {
	type opened struct {
		st  blob.Storage
		err error
	}
	came, left := make(chan opened), make(chan struct{})
	go func() {
		st, err := open()
		select {
		case came <- opened{st, err}:
		case <-left:
			if err == nil {
				_ = st.Close(context.WithoutCancel(ctx))
			}
		}
	}()
	select {
	case o := <-came:
		return o.st, o.err
	case <-ctx.Done():
		close(left)
		return nil, fmt.Errorf("connect: %w", ctx.Err())
	}
}

func hasEither(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
