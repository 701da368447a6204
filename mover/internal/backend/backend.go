// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backend turns the repository of a work spec, and the Secrets mounted beside it, into a connection of the
// engine. It names every key that is missing or malformed, and never a value.
package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Dirs is where the Secrets and the CA bundle of one repository are mounted.
type Dirs struct {
	Password, Auth, CA string
}

// KeyError says which key of which object is missing or malformed.
type KeyError struct {
	// Object is what holds the key, by its role: "password Secret".
	Object string
	Key    string
	// Problem completes "key K of the O …".
	Problem string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("key %s of the %s %s", e.Key, e.Object, e.Problem)
}

// Roles of the mounted objects.
const (
	passwordObject = "repository's password Secret"
	authObject     = "repository's credential Secret"
	caObject       = "repository's CA bundle"
)

// Secrets are values that must never leave the mover.
type Secrets []string

// Connection reads what a repository needs. The secrets are returned in every case, as far as they were read, so that
// the caller can redact them from its error.
func Connection(r work.Repository, d Dirs) (engine.Connection, Secrets, error) {
	c := engine.Connection{
		Username: r.Username, Hostname: r.Hostname,
		ExpectedUniqueID: r.ExpectedUniqueID, ReadOnly: r.ReadOnly, Throttle: Throttle(r.Throttle),
	}
	var secrets Secrets
	key := r.PasswordKey
	if key == "" {
		key = work.DefaultPasswordKey
	}
	password, err := ReadKey(d.Password, passwordObject, key)
	if err != nil {
		return c, secrets, err
	}
	c.Password = password
	secrets = append(secrets, password)
	st, values, err := Storage(r.Backend, d)
	c.Storage = st
	return c, append(secrets, values...), err
}

// Storage reads what a place needs, below any repository.
func Storage(b work.Backend, d Dirs) (engine.Storage, Secrets, error) {
	if b.Filesystem != nil {
		return engine.Storage{Filesystem: &engine.Filesystem{Path: b.Filesystem.Path}}, nil, nil
	}
	var values map[string]string
	if hasSecret(b) {
		var err error
		if values, err = readObject(d.Auth, authObject); err != nil {
			return engine.Storage{}, nil, err
		}
	}
	switch {
	case b.S3 != nil:
		return s3(*b.S3, d, values)
	case b.Azure != nil:
		return azure(*b.Azure, values, os.Getenv)
	case b.GCS != nil:
		return gcs(*b.GCS, values)
	case b.B2 != nil:
		return b2(*b.B2, values)
	case b.SFTP != nil:
		return sftp(*b.SFTP, values)
	case b.WebDAV != nil:
		return webDAV(*b.WebDAV, values)
	case b.Rclone != nil:
		return rclone(*b.Rclone, values)
	case b.GDrive != nil:
		return gdrive(*b.GDrive, values)
	default:
		return engine.Storage{}, nil, fmt.Errorf("%w: the repository has no backend that this mover knows", ErrInvalidSpec)
	}
}

func hasSecret(b work.Backend) bool {
	switch {
	case b.S3 != nil:
		return !b.S3.AmbientCredentials
	case b.Azure != nil:
		return !b.Azure.AmbientCredentials
	case b.GCS != nil:
		return !b.GCS.AmbientCredentials
	case b.WebDAV != nil:
		return !b.WebDAV.AmbientCredentials
	case b.Rclone != nil:
		return !b.Rclone.AmbientCredentials
	case b.GDrive != nil:
		return !b.GDrive.AmbientCredentials
	default:
		return true
	}
}

// Throttle maps the protocol's to the engine's.
func Throttle(t *work.Throttle) engine.Throttle {
	if t == nil {
		return engine.Throttle{}
	}
	return engine.Throttle{
		UploadBytesPerSecond: t.UploadBytesPerSecond, DownloadBytesPerSecond: t.DownloadBytesPerSecond,
		ReadOpsPerSecond: t.ReadOpsPerSecond, WriteOpsPerSecond: t.WriteOpsPerSecond,
	}
}

// ErrInvalidSpec is a work spec that asks for something that does not exist.
var ErrInvalidSpec = errors.New("invalid work spec")

// ReadKey reads one key of a mounted object, as it is.
func ReadKey(dir, object, key string) (string, error) {
	if filepath.Base(key) != key || key == "." || key == ".." {
		return "", &KeyError{Object: object, Key: key, Problem: "is no valid name of a key"}
	}
	b, err := os.ReadFile(filepath.Join(dir, key))
	switch {
	case os.IsNotExist(err):
		return "", &KeyError{Object: object, Key: key, Problem: "is missing" + has(dir)}
	case err != nil:
		return "", fmt.Errorf("read key %s of the %s: %w", key, object, err)
	case len(b) == 0:
		return "", &KeyError{Object: object, Key: key, Problem: "is empty"}
	}
	return string(b), nil
}
