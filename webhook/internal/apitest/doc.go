// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest holds tests of the whole webhook: a real kube-apiserver calls it as the chart's configurations say.
// Without a kube-proxy it reaches a Service by a name of its own, so each test's Service has the loopback's.
package apitest
