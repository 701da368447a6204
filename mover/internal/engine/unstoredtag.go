// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/kopia/kopia/snapshot"
)

// TagUnstored on a snapshot counts what its source held and it does not: the manifest has nothing else that would tell it
// to whoever finds the snapshot later.
const TagUnstored = "kopiur-unstored"

// unstoredCounts is what the tag holds. Paths are not in it: they may be long, and secret to those who may only list.
type unstoredCounts struct {
	UnsupportedNames int64            `json:"names,omitempty"`
	Refused          int64            `json:"refused,omitempty"`
	Unsupported      map[string]int64 `json:"kinds,omitempty"`
}

// withUnstored says it also where there is nothing to say: a snapshot without the tag was made by something that does not
// count.
func withUnstored(tags map[string]string, u Unstored) map[string]string {
	b, err := json.Marshal(unstoredCounts{u.UnsupportedNames, u.Refused, u.Unsupported})
	if err != nil {
		return tags
	}
	out := maps.Clone(tags)
	if out == nil {
		out = map[string]string{}
	}
	out[TagUnstored] = string(b)
	return out
}

// plainSince is from when on a file that has not been touched has no extended attributes and no ACL: the start of the
// earlier snapshot that it is taken from, if that has counted none in the whole source. Zero where that is not known. The
// hour is for clocks that disagree: the volume's may be a server's.
func plainSince(prev []*snapshot.Manifest) time.Time {
	if len(prev) != 1 || prev[0].IncompleteReason != "" {
		return time.Time{}
	}
	var c unstoredCounts
	if err := json.Unmarshal([]byte(prev[0].Tags[tagPrefix+TagUnstored]), &c); err != nil || c.Unsupported["xattr"]+c.Unsupported["acl"] > 0 {
		return time.Time{}
	}
	return prev[0].StartTime.ToTime().Add(-time.Hour)
}

// systemWord cuts what kopia stored of an error to what the system said. Paths come by themselves, and a text in a status
// must not change from run to run.
func systemWord(text string) string {
	if strings.HasSuffix(text, ErrUnsupportedName.Error()) {
		return unsupportedName
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}

// Unstored is what is known of a snapshot that was found, and not made just now. Root is where its source is mounted: owner
// and mode of the entries that are missing are looked up there.
func (s Snapshot) Unstored(root string) Unstored {
	var c unstoredCounts
	_ = json.Unmarshal([]byte(s.Tags[TagUnstored]), &c) // without the tag, or with somebody else's, nothing is known
	u := Unstored{UnsupportedNames: c.UnsupportedNames, Refused: c.Refused, Unsupported: c.Unsupported}
	u.Unreadable = max(0, s.Failed+s.Tolerated-u.UnsupportedNames-u.Refused)
	u.Paths = s.Faults
	sys, err := openRootFS(root)
	if err != nil {
		return u
	}
	defer sys.Close()
	u.Paths = make([]Fault, len(s.Faults))
	for i, f := range s.Faults {
		f.Reason = systemWord(f.Reason)
		u.Paths[i] = f
		if st, err := sys.Lstat(f.Path); err == nil {
			e := sourceEntry{info: st}
			u.Paths[i].UID, u.Paths[i].Mode = int64(e.Owner().UserID), st.Mode()
		}
	}
	return u
}
