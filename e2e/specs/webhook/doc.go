// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook holds the cluster tests of admission. They take the webhook down and up again, which every other spec
// would notice: so they are a package of their own, and run one after the other.
package webhook
