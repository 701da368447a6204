// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// kind says what a folder of the store is.
type kind string

const (
	volume   kind = "volumes"
	snapshot kind = "snapshots"
	// group holds no data of its own, only which snapshots were taken together.
	group kind = "groups"
)

// errNotFound means that the store has no such volume, snapshot or group.
var errNotFound = errors.New("not found")

// record describes a volume, a snapshot or a group of them; it lies beside its data as record.json.
type record struct {
	ID      string
	Name    string
	Source  string   // the volume a snapshot was taken of
	Group   string   // the group that a snapshot was taken with
	Sources []string // the volumes of a group, sorted
	Bytes   int64
	Block   bool // its data is one file, the image
	Limited bool // its data is a file system of its own, with room for Bytes and no more
	Created time.Time
}

// store keeps volumes, snapshots and groups as folders: <root>/<kind>/<id>/{record.json,data}.
type store struct{ root string }

func openStore(root string) (*store, error) {
	for _, k := range []kind{volume, snapshot, group} {
		if err := os.MkdirAll(filepath.Join(root, string(k)), 0o755); err != nil {
			return nil, fmt.Errorf("open the store: %w", err)
		}
	}
	return &store{root: root}, nil
}

// idFor derives an id from the name the caller chose, which is how repeated calls find what an earlier call made.
func idFor(k kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.TrimSuffix(string(k), "s") + "-" + hex.EncodeToString(sum[:12])
}

// folder refuses ids that could lead out of the store: ids come from users through pre-provisioned objects.
func (s *store) folder(k kind, id string) (string, error) {
	if id == "" || strings.ContainsAny(id, "/.\x00") {
		return "", fmt.Errorf("id %q: %w", id, errNotFound)
	}
	return filepath.Join(s.root, string(k), id), nil
}

func (s *store) data(k kind, id string) (string, error) {
	folder, err := s.folder(k, id)
	return filepath.Join(folder, "data"), err
}

// get reads a record; the error is errNotFound when there is none.
func (s *store) get(k kind, id string) (record, error) {
	folder, err := s.folder(k, id)
	if err != nil {
		return record{}, err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "record.json"))
	if errors.Is(err, os.ErrNotExist) {
		return record{}, fmt.Errorf("%s %q: %w", k, id, errNotFound)
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return record{}, fmt.Errorf("%s %q: %w", k, id, err)
	}
	return r, nil
}

// list returns all records of a kind, sorted by id.
func (s *store) list(k kind) ([]record, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, string(k)))
	if err != nil {
		return nil, err
	}
	var all []record
	for _, entry := range entries {
		r, err := s.get(k, entry.Name())
		if errors.Is(err, errNotFound) {
			continue // a half-made folder of a call that is still running or was killed
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// create makes an empty volume, or a copy of the data folder from when that is not empty. It works in a folder whose
// name no id can have and renames it at the end, so that nobody sees a half-made one.
func (s *store) create(ctx context.Context, k kind, r record, from string) error {
	folder, err := s.folder(k, r.ID)
	if err != nil {
		return err
	}
	draft := folder + ".draft"
	if err := wipe(draft); err != nil {
		return err
	}
	data := filepath.Join(draft, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	if r.Limited {
		// The mount moves along when the folder above it gets its name.
		if err := limit(data, r.Bytes); err != nil {
			return errors.Join(err, wipe(draft))
		}
	}
	if from == "" {
		// Pods of any user write to a fresh volume, as with most network storage.
		err = os.Chmod(data, 0o777)
	} else {
		err = copyTree(ctx, from, data)
	}
	if err == nil && r.Block {
		err = s.makeImage(ctx, data, r.Bytes)
	}
	if err != nil {
		return errors.Join(err, wipe(draft))
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(draft, "record.json"), raw, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, folder)
}

// remove deletes a volume or snapshot; one that is not there is no error, as CSI asks.
func (s *store) remove(k kind, id string) error {
	folder, err := s.folder(k, id)
	if errors.Is(err, errNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return wipe(folder)
}

// copyTree copies owners, modes, times, links, holes and extended attributes, and shares blocks where the file system
// can.
func copyTree(ctx context.Context, from, to string) error {
	out, err := exec.CommandContext(ctx, "cp", "--archive", "--reflink=auto", from+"/.", to+"/").CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, strings.TrimSpace(string(out)))
	}
	return nil
}
