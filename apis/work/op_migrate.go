// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import "time"

// Migrate copies snapshots from the repository of the Spec into another one, which may have another password, format
// and storage. A snapshot that is there already, by identity and start time, is left alone. Credentials of both are
// below SourceSecretsDir and DestinationSecretsDir.
type Migrate struct {
	Destination Repository `json:"destination"`
	Selection   Selection  `json:"selection,omitzero"`
	// LatestOnly copies the newest complete snapshot of each identity only. Copies of older ones that are there are recorded.
	LatestOnly bool `json:"latestOnly,omitempty"`
	// Parallel is how many identities are copied at a time; zero means one.
	Parallel int `json:"parallel,omitempty"`
	// Keep, where it is set, leaves out what its rules would not keep of all that source and destination have of an identity:
	// who thins out the copies by the same rules would only undo it.
	Keep *Keep `json:"keep,omitempty"`
	// Policies says what happens to the policies stored for the selected identities. Empty means MigratePoliciesNone.
	Policies MigratePolicies `json:"policies,omitempty"`
	// ReportPresent writes a CopyRecord also for what was there before. It is how the full list is had, and how records
	// are had again that were lost with a pod.
	ReportPresent bool `json:"reportPresent,omitempty"`
	// Cursor goes on with the records where an earlier result ended. With it, what is present is recorded in every case.
	Cursor Cursor `json:"cursor,omitempty"`
}

// MigratePolicies says what happens to stored policies.
type MigratePolicies string

// What may happen to them. Copying replaces none at the destination, overwriting does.
const (
	MigratePoliciesNone      MigratePolicies = "none"
	MigratePoliciesCopy      MigratePolicies = "copy"
	MigratePoliciesOverwrite MigratePolicies = "copyOverwrite"
)

// Selection picks identities: those that match any of Include, all where it is empty, and none of Exclude.
type Selection struct {
	Include []IdentityGlob `json:"include,omitempty"`
	Exclude []IdentityGlob `json:"exclude,omitempty"`
}

// Selects reports whether an identity is picked.
func (s Selection) Selects(id Identity) bool {
	for _, g := range s.Exclude {
		if g.Matches(id) {
			return false
		}
	}
	for _, g := range s.Include {
		if g.Matches(id) {
			return true
		}
	}
	return len(s.Include) == 0
}

// IdentityGlob matches identities by anchored globs: * stands for any text, slashes included, ? for one character. An
// empty field matches everything.
type IdentityGlob struct {
	Username   string `json:"username,omitempty"`
	Hostname   string `json:"hostname,omitempty"`
	SourcePath string `json:"sourcePath,omitempty"`
}

// Matches reports whether all three parts match.
func (g IdentityGlob) Matches(id Identity) bool {
	return glob(g.Username, id.Username) && glob(g.Hostname, id.Hostname) && glob(g.SourcePath, id.Path)
}

// glob matches by going back to the last star only, so no pattern takes more than pattern times text.
func glob(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// CopyRecord is one snapshot that the destination holds.
type CopyRecord struct {
	// SourceID is its manifest at the source, SnapshotID the one at the destination.
	SourceID   string   `json:"sourceID"`
	SnapshotID string   `json:"snapshotID"`
	Identity   Identity `json:"identity"`
	// StartTime is exact: snapshots of one identity are told apart by it.
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime,omitzero"`
	SizeBytes int64     `json:"sizeBytes,omitempty"`
	FileCount int64     `json:"fileCount,omitempty"`
	// Present: it was there before this run.
	Present bool `json:"present,omitempty"`
	// By is the request that the copy was made for, empty where it is not known to be one.
	By string `json:"by,omitempty"`
	// Pinned: the copy has Kopiur's own pin.
	Pinned bool `json:"pinned,omitempty"`
}

// MigrateResult counts. What was copied is in the pages of the stream.
type MigrateResult struct {
	// UniqueID is the destination's.
	UniqueID           string `json:"uniqueID,omitempty"`
	IdentitiesSelected int64  `json:"identitiesSelected"`
	SnapshotsCopied    int64  `json:"snapshotsCopied"`
	AlreadyPresent     int64  `json:"alreadyPresent"`
	// NotKept were left out by Migrate.Keep.
	NotKept int64 `json:"notKept,omitempty"`
	// Failed snapshots could not be read from the source; the others were copied all the same.
	Failed int64 `json:"failed"`
	// IncompleteSkipped are checkpoints of uploads that never ended.
	IncompleteSkipped int64 `json:"incompleteSkipped,omitempty"`
	PoliciesCopied    int64 `json:"policiesCopied,omitempty"`
	BytesCopied       int64 `json:"bytesCopied,omitempty"`
	// Pages is how many pages of records were written.
	Pages int `json:"pages,omitempty"`
	// Cursor is set where there are more records than one stream holds: ask again with it.
	Cursor Cursor `json:"cursor,omitempty"`
}
