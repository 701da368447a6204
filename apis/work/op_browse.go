// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Browse keeps a read-only connection open for as long as a session lasts, and answers requests that `mover browse`
// brings to BrowseSocket from inside the same pod. A request is one BrowseRequest; the answer is a stream of frames:
// pages of entries, the bytes of a file, or a tar archive, and a status at its end.
type Browse struct {
	// SessionSeconds is how long the session lasts without a request; zero means DefaultSessionSeconds.
	SessionSeconds int64 `json:"sessionSeconds,omitempty"`
}

// DefaultSessionSeconds is a quarter of an hour.
const DefaultSessionSeconds int64 = 900

// BrowseAction is what a request wants.
type BrowseAction string

// Actions of a request.
const (
	// BrowseList answers with BrowsePages of a folder's entries, or one of a file's own.
	BrowseList BrowseAction = "list"
	// BrowseCat answers with the bytes of one file.
	BrowseCat BrowseAction = "cat"
	// BrowseDownload answers with a tar archive of a file or folder.
	BrowseDownload BrowseAction = "download"
	// BrowseEnd ends the session.
	BrowseEnd BrowseAction = "end"
)

// BrowseRequest names what is wanted of which snapshot.
type BrowseRequest struct {
	Action     BrowseAction `json:"action"`
	SnapshotID string       `json:"snapshotID,omitempty"`
	// Identity and StartTime find the snapshot again when its manifest id has changed.
	Identity  Identity   `json:"identity,omitzero"`
	StartTime *time.Time `json:"startTime,omitempty"`
	// Path is below the snapshot's root; empty means the root.
	Path string `json:"path,omitempty"`
	// Limit bounds the entries of a list; zero means all of them.
	Limit int `json:"limit,omitempty"`
	// After begins a list behind this name.
	After string `json:"after,omitempty"`
}

// MaxPageEntries bounds one page of a list.
const MaxPageEntries = 500

// BrowsePage is one data frame of a list.
type BrowsePage struct {
	// Number begins at one.
	Number  int           `json:"number"`
	Entries []BrowseEntry `json:"entries,omitempty"`
	// More is the name to begin behind, where the limit ended the list.
	More string `json:"more,omitempty"`
}

// BrowseEntry is one stored entry.
type BrowseEntry struct {
	Name string `json:"name"`
	// Type is file, directory or symlink.
	Type string `json:"type"`
	// Mode is as ls shows it.
	Mode    string    `json:"mode"`
	Size    int64     `json:"size"`
	UID     int64     `json:"uid"`
	GID     int64     `json:"gid"`
	ModTime time.Time `json:"modTime"`
	// LinkTarget is where a symbolic link points to.
	LinkTarget string `json:"linkTarget,omitempty"`
	// Files is how many files are below a folder.
	Files int64 `json:"files,omitempty"`
}

// BrowseResult counts what a session served.
type BrowseResult struct {
	Requests int64 `json:"requests"`
	Failed   int64 `json:"failed,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
}
