// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Page is a part of an answer that is too long for a Result. Pages are numbered from one and counted in the Result: a
// gap means that the log was cut, and the question has to be asked again.
type Page struct {
	Number int `json:"number"`
	// Cursor is what Catalog.After, or Migrate.Cursor, wants to hear for the list to go on behind this page.
	Cursor Cursor `json:"cursor,omitempty"`
	// Snapshots are the entries of a Bootstrap's catalog.
	Snapshots []CatalogEntry `json:"snapshots,omitempty"`
	// Copies are the records of a Migrate.
	Copies []CopyRecord `json:"copies,omitempty"`
}

// MaxPageBytes bounds one page: the container runtime cuts longer lines into pieces.
const MaxPageBytes = 12 << 10
