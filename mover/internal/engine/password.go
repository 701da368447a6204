// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
)

// errNoPasswordChange: the repository is of a kopia so old that its password is part of its keys.
var errNoPasswordChange = errors.New("the repository's format does not allow another password")

// ChangePassword gives a repository another password. The connection has the old one. It is idempotent, and may be asked
// again after it was killed at any point: kopia writes two blobs, and between them neither password opens the repository.
//
// Data is not encrypted anew. Whoever knew the old password and kept a copy of the repository's format blob can still
// read the repository.
func ChangePassword(ctx context.Context, c Connection, password string) error {
	if password == "" || strings.TrimRightFunc(password, unicode.IsSpace) != password {
		return fmt.Errorf("%w: a password must not be empty or end in white space", ErrInvalidOption)
	}
	if c.ReadOnly {
		return fmt.Errorf("%w: the repository is read-only", ErrInvalidOption)
	}
	changed := c
	changed.Password = password
	r, err := Open(ctx, c)
	switch {
	case err == nil:
	case errors.Is(err, ErrWrongPassword):
		// An earlier attempt may have come to its end.
		if done, derr := Open(ctx, changed); derr == nil {
			return done.Close(ctx)
		}
		return err
	default:
		if r, err = c.mend(ctx, err); err != nil {
			return err
		}
	}
	err = r.changePassword(ctx, password)
	if cerr := r.Close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	proof, err := Open(ctx, changed)
	if err != nil {
		return fmt.Errorf("open the repository with its new password: %w", err)
	}
	return proof.Close(ctx)
}

func (r *Repository) changePassword(ctx context.Context, password string) error {
	if !r.rep.FormatManager().SupportsPasswordChange() {
		return fmt.Errorf("%w: %w", ErrInvalidOption, errNoPasswordChange)
	}
	if err := r.rep.FormatManager().ChangePassword(ctx, password); err != nil {
		return fmt.Errorf("%w: change the repository's password: %w", ErrStorage, err)
	}
	return nil
}

// mend undoes what a change of the password left that was killed between its two blobs: the settings of object lock are
// encrypted for the new password already. Where that, and nothing else, is what keeps the repository shut, they are
// removed; the next bootstrap sets them again. Anything else stays the error it was.
func (c Connection) mend(ctx context.Context, cause error) (*Repository, error) {
	if ctx.Err() != nil {
		return nil, cause
	}
	st, err := c.Storage.open(ctx)
	if err != nil {
		return nil, cause
	}
	defer st.Close(context.WithoutCancel(ctx))
	if _, err := format.NewManager(ctx, st, "", -1, c.Password, c.Clock); err == nil {
		return nil, cause // it opens
	}
	if _, err := format.NewManager(ctx, hiding{st, format.KopiaBlobCfgBlobID}, "", -1, c.Password, c.Clock); err != nil {
		return nil, cause
	}
	if err := st.DeleteBlob(ctx, format.KopiaBlobCfgBlobID); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return Open(ctx, c)
}

// hiding is a storage without one of its blobs.
type hiding struct {
	blob.Storage

	id blob.ID
}

func (h hiding) GetBlob(ctx context.Context, id blob.ID, off, n int64, out blob.OutputBuffer) error {
	if id == h.id {
		return blob.ErrBlobNotFound
	}
	return h.Storage.GetBlob(ctx, id, off, n, out) //nolint:wrapcheck // it is that storage
}
