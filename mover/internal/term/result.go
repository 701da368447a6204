// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"os"

	"github.com/kopiur/kopiur/apis/work"
)

// WriteResult writes the termination message. The file is a mount of the kubelet's, so it cannot be replaced by a
// rename; one write of at most a page, then a cut to size, leaves no moment in which it is empty or half.
func WriteResult(path string, r work.Result) error {
	b, err := work.EncodeResult(r)
	if err != nil {
		return err //nolint:wrapcheck // it says what it was doing
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o640) //nolint:gosec // the kubelet reads it
	if err != nil {
		return fmt.Errorf("write termination message: %w", err)
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write termination message: %w", err)
	}
	return nil
}
