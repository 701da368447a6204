// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push uploads an archive. Credentials come from the user's docker configuration.
func push(ctx context.Context, file, reference string, insecure bool) (v1.Hash, error) {
	if file == "" {
		return v1.Hash{}, errors.New("--out is required")
	}
	options := []name.Option{name.StrictValidation}
	if insecure {
		options = append(options, name.Insecure)
	}
	tag, err := name.NewTag(reference, options...)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("push: %w", err)
	}
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("read archive %s: %w", file, err)
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return v1.Hash{}, fmt.Errorf("push %s: %w", reference, err)
	}
	return image.Digest()
}
