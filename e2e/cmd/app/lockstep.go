// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// lockstep writes numbers into two files, each number first into the one and then into the other, as fast as it can. At
// any instant they are equal, or the first is ahead by one; two copies of different instants are many numbers apart.
func (a app) lockstep(ctx context.Context, args []string) error {
	if err := want(args, "FIRST", "SECOND"); err != nil {
		return err
	}
	files := make([]*os.File, 0, len(args))
	defer func() {
		for _, f := range files {
			_ = f.Close() // every number has been written
		}
	}()
	for _, name := range args {
		f, err := os.Create(filepath.Clean(name))
		if err != nil {
			return fmt.Errorf("create a counter: %w", err)
		}
		files = append(files, f)
	}
	for n := 0; ctx.Err() == nil; n++ {
		for _, f := range files {
			// One write of a fixed length, so that a copy never has half a number.
			if _, err := f.WriteAt(fmt.Appendf(nil, "%020d\n", n), 0); err != nil {
				return fmt.Errorf("count: %w", err)
			}
		}
	}
	return nil
}
