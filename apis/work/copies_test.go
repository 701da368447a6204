// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// copySpecs are the operations with two repositories, with a command or with a person at their other end.
func copySpecs() map[string]work.Spec {
	source, destination := repository(), repository()
	source.Backend = work.Backend{Filesystem: &work.Filesystem{Path: work.SourceRepositoryDir}}
	destination.Name, destination.ExpectedUniqueID = "Repository apps/offsite", ""
	destination.Backend = work.Backend{S3: &work.S3{Bucket: "offsite", Endpoint: "s3.example.org", Region: "eu-1", CAKey: "ca.crt"}}
	destination.Throttle = &work.Throttle{UploadBytesPerSecond: 1000, WriteOpsPerSecond: 5}
	id := work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}
	return map[string]work.Spec{
		"replicate": {RequestID: "u-5", Repository: source, Operation: work.Operation{Replicate: &work.Replicate{
			Destination: destination.Backend, Throttle: destination.Throttle, Parallel: 16, DeleteExtra: true, Times: true, Update: new(false),
		}}},
		"migrate": {RequestID: "u-6", Repository: source, Operation: work.Operation{Migrate: &work.Migrate{
			Destination: destination, LatestOnly: true, Parallel: 2, Policies: work.MigratePoliciesCopy, ReportPresent: true, Keep: &work.Keep{Latest: 3, Daily: 7}, Cursor: "2026-03-05T02:00:00.000000789Z",
			Selection: work.Selection{Include: []work.IdentityGlob{{Username: "web*", Hostname: "apps"}}, Exclude: []work.IdentityGlob{{SourcePath: "/pvc/tmp-?"}}},
		}}},
		"seed-blob": {RequestID: "u-7", Repository: destination, Operation: work.Operation{Seed: &work.Seed{
			Blob: &work.SeedBlob{Source: source.Backend, Throttle: &work.Throttle{DownloadBytesPerSecond: 2000}, Parallel: 4}, AllowEmptySource: true,
		}}},
		"seed-migrate": {RequestID: "u-8", Repository: destination, Operation: work.Operation{Seed: &work.Seed{
			Migrate: &work.SeedMigrate{Source: source, Create: work.Create{Hash: "BLAKE3-256-128"}, Policies: work.MigratePoliciesOverwrite},
		}}},
		"browse": {RequestID: "u-9", Repository: repository(), Operation: work.Operation{Browse: &work.Browse{SessionSeconds: 600}}},
		"stream-snapshot": {RequestID: "u-10", Repository: repository(), Operation: work.Operation{StreamSnapshot: &work.StreamSnapshot{
			Identity: work.Identity{Username: "db", Hostname: "apps", Path: "/stream/dump.sql"}, FileName: "dump.sql",
			Description: "nightly", Tags: map[string]string{"kopiur": "config:db"}, Compression: "zstd-fastest",
		}}},
		"stream-restore": {RequestID: "u-11", Repository: repository(), Operation: work.Operation{StreamRestore: &work.StreamRestore{
			SnapshotID: "aabb", Identity: id, StartTime: new(at("2026-03-05T02:00:00Z")), FileName: "dump.sql",
		}}},
		"ui": {RequestID: "u-12", Repository: repository(), Operation: work.Operation{UI: &work.UI{
			Listen: ":51515", ReadOnly: true, UsernameKey: "username", PasswordKey: "password", Title: "apps/nas",
		}}},
	}
}

func copyResults() map[string]work.Result {
	return map[string]work.Result{
		"replicate-ok": {Operation: "replicate", Code: work.CodeOK, Replicate: &work.ReplicateResult{
			UniqueID: "0011aabb", Fresh: true, BlobsTotal: 9, BytesTotal: 900, BlobsCopied: 7, BytesCopied: 700, BlobsDeleted: 1, BytesDeleted: 50, BlobsExtra: 2,
		}},
		"replicate-source-empty": {Operation: "replicate", Code: work.CodeSourceEmpty, Message: "the source holds no data", Replicate: &work.ReplicateResult{}},
		"migrate-ok": {Operation: "migrate", Code: work.CodeOK, Migrate: &work.MigrateResult{
			UniqueID: "22ff", IdentitiesSelected: 2, SnapshotsCopied: 3, AlreadyPresent: 4, NotKept: 2, Failed: 1, IncompleteSkipped: 1, PoliciesCopied: 1, BytesCopied: 99, Pages: 2, Cursor: "2026-03-05T02:00:00.000000789Z",
		}},
		"seed-ok":           {Operation: "seed", Code: work.CodeOK, Seed: &work.SeedResult{UniqueID: "0011aabb", Resumed: true, SnapshotCount: 3, BlobsCopied: 9, BytesCopied: 900}},
		"seed-not-needed":   {Operation: "seed", Code: work.CodeOK, Seed: &work.SeedResult{UniqueID: "0011aabb", AlreadyInitialized: true, SnapshotCount: 3}},
		"seed-left-empty":   {Operation: "seed", Code: work.CodeOK, Seed: &work.SeedResult{LeftEmpty: true}},
		"browse-ok":         {Operation: "browse", Code: work.CodeOK, Browse: &work.BrowseResult{Requests: 4, Failed: 1, Bytes: 4096}},
		"stream-restore-ok": {Operation: "streamRestore", Code: work.CodeOK, StreamRestore: &work.StreamRestoreResult{SnapshotID: "aabb", SizeBytes: 5, BytesDelivered: 5, Delivered: true}},
	}
}

func copyEvents() map[string]work.Event {
	return map[string]work.Event{
		"page-copies": {Type: work.EventPage, Time: at("2026-03-05T02:00:00Z"), Page: &work.Page{Number: 1, Copies: []work.CopyRecord{{
			SourceID: "aabb", SnapshotID: "ccdd", Identity: work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"},
			StartTime: at("2026-03-05T02:00:00.000000789Z"), EndTime: at("2026-03-05T02:00:09Z"), SizeBytes: 10, FileCount: 2, Present: true, By: "u-6", Pinned: true,
		}}}},
	}
}

func TestEventGolden(t *testing.T) {
	t.Parallel()
	for name, e := range copyEvents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := work.EncodeEvent(e)
			require.NoError(t, err)
			golden(t, "event-"+name, []byte(strings.TrimSuffix(string(b), "\n")))
			back, ok := work.DecodeEvent(b)
			require.True(t, ok)
			assert.Equal(t, e, back)
		})
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	id := work.Identity{Username: "web", Hostname: "apps.prod", Path: "/pvc/data/deep"}
	glob := func(user, host, path string) work.IdentityGlob {
		return work.IdentityGlob{Username: user, Hostname: host, SourcePath: path}
	}
	for name, tc := range map[string]struct {
		in   work.Selection
		want bool
	}{
		"nothing named picks everything":           {work.Selection{}, true},
		"all three parts equal":                    {work.Selection{Include: []work.IdentityGlob{glob("web", "apps.prod", "/pvc/data/deep")}}, true},
		"one part is enough":                       {work.Selection{Include: []work.IdentityGlob{glob("web", "", "")}}, true},
		"a part that differs":                      {work.Selection{Include: []work.IdentityGlob{glob("web", "apps", "")}}, false},
		"globs are anchored at the front":          {work.Selection{Include: []work.IdentityGlob{glob("eb", "", "")}}, false},
		"globs are anchored at the end":            {work.Selection{Include: []work.IdentityGlob{glob("we", "", "")}}, false},
		"a star crosses slashes":                   {work.Selection{Include: []work.IdentityGlob{glob("", "", "/pvc/*")}}, true},
		"a star may stand for nothing":             {work.Selection{Include: []work.IdentityGlob{glob("web*", "", "")}}, true},
		"stars in the middle":                      {work.Selection{Include: []work.IdentityGlob{glob("", "*.*", "/*/*/deep")}}, true},
		"a question mark is one character":         {work.Selection{Include: []work.IdentityGlob{glob("we?", "", "")}}, true},
		"and not none":                             {work.Selection{Include: []work.IdentityGlob{glob("web?", "", "")}}, false},
		"any of several":                           {work.Selection{Include: []work.IdentityGlob{glob("db", "", ""), glob("web", "", "")}}, true},
		"an exclusion wins":                        {work.Selection{Include: []work.IdentityGlob{glob("web", "", "")}, Exclude: []work.IdentityGlob{glob("", "*.prod", "")}}, false},
		"an exclusion of something else":           {work.Selection{Exclude: []work.IdentityGlob{glob("db", "", "")}}, true},
		"brackets are no pattern":                  {work.Selection{Include: []work.IdentityGlob{glob("[w]eb", "", "")}}, false},
		"a pattern made to take for ever does not": {work.Selection{Include: []work.IdentityGlob{glob("", "", strings.Repeat("*a", 5000))}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, tc.in.Selects(id))
		})
	}
}
