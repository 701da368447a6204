// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema_test asks a real API server what the CRDs take: every rule both ways, every default, and what has to go
// on working for objects and clients that are older than a rule. One file has one kind.
package schema_test

import (
	"os"
	"testing"

	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
