// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"os"
	"path/filepath"
)

func writeFile(name string, b []byte) error { return os.WriteFile(name, b, 0o600) }

func readFile(name string) ([]byte, error) { return os.ReadFile(filepath.Clean(name)) }
