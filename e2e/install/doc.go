// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests what people apply before anything runs: the CRDs, the chart and the examples of the docs. It
// needs an API server and no kubelet; nothing here looks at what the controller does.
package install
