// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// epoch is the time of everything in an image: a build's own time would give every build another digest.
var epoch = time.Unix(0, 0).UTC()

// spec is what an image is made of.
type spec struct {
	name, binary, entrypoint, user, platform string
	command, env, labels, folders            []string
}

func (s spec) check() error {
	for flag, value := range map[string]string{"name": s.name, "binary": s.binary, "entrypoint": s.entrypoint} {
		if value == "" {
			return fmt.Errorf("--%s is required", flag)
		}
	}
	if !path.IsAbs(s.entrypoint) || path.Clean(s.entrypoint) != s.entrypoint {
		return fmt.Errorf("--entrypoint %q: want a clean absolute path", s.entrypoint)
	}
	if _, _, ok := strings.Cut(s.platform, "/"); !ok {
		return fmt.Errorf("--platform %q: want OS/ARCHITECTURE", s.platform)
	}
	return nil
}

// build makes the image in memory. Folders come first: they change less often than the binary, so their layers are
// shared between versions.
func build(s spec) (v1.Image, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var layers []mutate.Addendum
	add := func(entries []entry, what string) error {
		layer, err := makeLayer(entries)
		if err != nil {
			return fmt.Errorf("make layer of %s: %w", what, err)
		}
		layers = append(layers, mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: epoch}, CreatedBy: "kopiur image: " + what,
		}})
		return nil
	}
	for _, folder := range s.folders {
		entries, err := folderEntries(folder)
		if err != nil {
			return nil, err
		}
		// The folder's name, not its path: that differs between machines.
		if err := add(entries, filepath.Base(folder)); err != nil {
			return nil, err
		}
	}
	if err := add(binaryEntries(s.binary, s.entrypoint), path.Base(s.entrypoint)); err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, layers...)
	if err != nil {
		return nil, fmt.Errorf("assemble image: %w", err)
	}
	return configure(image, s)
}

func configure(image v1.Image, s spec) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, _ = strings.Cut(s.platform, "/")
	config.Created = v1.Time{Time: epoch}
	config.Config = v1.Config{
		Entrypoint: []string{s.entrypoint}, Cmd: s.command, User: s.user, WorkingDir: "/",
		Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin:/"}, s.env...),
	}
	for _, label := range s.labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--label %q: want KEY=VALUE", label)
		}
		if config.Config.Labels == nil {
			config.Config.Labels = map[string]string{}
		}
		config.Config.Labels[key] = value
	}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	return image, nil
}

// writeArchive builds an image and writes it as an archive that containerd, docker and podman load.
func writeArchive(s spec, file string) (v1.Hash, error) {
	if file == "" {
		return v1.Hash{}, errors.New("--out is required")
	}
	image, err := build(s)
	if err != nil {
		return v1.Hash{}, err
	}
	// Whole or not at all: a half-written archive would be loaded and fail much later.
	tag, err := name.NewTag(s.name, name.StrictValidation)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("--name: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return v1.Hash{}, err
	}
	draft := file + ".draft"
	if err := tarball.WriteToFile(draft, tag, image); err != nil {
		return v1.Hash{}, errors.Join(fmt.Errorf("write archive: %w", err), os.Remove(draft))
	}
	if err := os.Rename(draft, file); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}
