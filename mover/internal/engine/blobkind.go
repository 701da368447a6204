// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/format"
)

// blobKind says what a blob is to a copy. Kopia names its blobs by kind; whatever has another name is not kopia's, and
// a copy neither takes nor deletes it.
type blobKind int

const (
	blobForeign blobKind = iota
	// blobData are packs, of contents (p) and of metadata (q). Their names are never used twice.
	blobData
	// blobIndex says what is in which pack: x for the epochs of today's format, n, m and l before it.
	blobIndex
	// blobLog are kopia's own logs.
	blobLog
	// blobSession marks a client that is writing at this moment; it means nothing anywhere else.
	blobSession
	// blobFormat are the few blobs that are written again under their name: kopia.repository and those beside it.
	blobFormat
)

// isCopied reports whether a copy takes blobs of a kind along.
func isCopied(k blobKind) bool {
	return k == blobData || k == blobIndex || k == blobLog || k == blobFormat
}

// copyMarkerID is the blob that a copy into an empty place writes first and deletes last. What is in that place without
// it, and is no repository, is somebody else's.
const copyMarkerID blob.ID = "kopiur.copy"

func kindOfBlob(id blob.ID) blobKind {
	name := string(id)
	if name == "" || strings.Contains(name, "/") {
		return blobForeign // on S3 a folder of somebody else's is listed as one
	}
	rest := name[1:]
	switch name[0] {
	case 'p', 'q':
		return ifHex(rest, 32, blobData)
	case 'n', 'm', 'l':
		return ifHex(rest, 32, blobIndex)
	case 'x':
		if rest != "" && strings.ContainsRune("nserw", rune(rest[0])) && len(rest) > 1 {
			return blobIndex
		}
	case 's':
		return ifHex(rest, 16, blobSession)
	case '_':
		if strings.HasPrefix(rest, "log_") {
			return blobLog
		}
	case 'k':
		switch {
		case id == format.KopiaRepositoryBlobID, id == format.KopiaBlobCfgBlobID, id == maintenanceBlobID,
			strings.HasPrefix(name, format.BackupBlobIDPrefix):
			return blobFormat
		}
	}
	return blobForeign
}

// maintenanceBlobID holds the times of kopia's maintenance.
const maintenanceBlobID blob.ID = "kopia.maintenance"

// ifHex is the kind if at least n hexadecimal digits begin the text.
func ifHex(s string, n int, kind blobKind) blobKind {
	if len(s) < n {
		return blobForeign
	}
	for _, c := range []byte(s[:n]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return blobForeign
		}
	}
	return kind
}
