// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kopiur/kopiur/controller/internal/deps"
)

// Setup adds the reconcilers of both kinds.
func Setup(mgr ctrl.Manager, d deps.Deps) error { return nil }
