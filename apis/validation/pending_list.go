// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

// pendingFields lists, by kind, the fields no code of this version reads: there are none. A field that is to be in the
// schema before its feature has a row here until that lands; the test of the list sees to it that docs/reference/not-yet.md
// says the same.
var pendingFields = map[string][]pendingField{}
