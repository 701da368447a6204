// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission answers admission requests. It decodes, asks apis/validation and encodes; it knows no rule.
package admission
