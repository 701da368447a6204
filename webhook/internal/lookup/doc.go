// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup finds the other objects that an admission check depends on: in a small cache of what such checks read
// and nothing else, and where that does not have the object yet, by one short request. Whatever it cannot find out is an
// error, which the caller lets pass with a warning: a webhook that refuses because it does not know stops everybody's
// work.
package lookup
