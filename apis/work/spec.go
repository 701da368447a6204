// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"reflect"
	"strings"
	"time"
)

// APIVersion names the version of this protocol. Both sides refuse any other.
const APIVersion = "work.kopiur.home-operations.com/v1"

// EnvSpec is the environment variable that carries the Spec as JSON. It is inline because a ConfigMap per run leaked
// by the hundreds (acceptance E-2).
const EnvSpec = "KOPIUR_WORK_SPEC"

// Spec is one unit of work for one mover.
type Spec struct {
	APIVersion string `json:"apiVersion"`
	// RequestID is the UID of the object the work is done for. A snapshot carries it as a tag, so that a rerun finds
	// what an earlier, lost attempt had already stored.
	RequestID string `json:"requestID"`
	// Repository says where and how to connect.
	Repository Repository `json:"repository"`
	// Deadline bounds the operation. The zero value means DefaultDeadline.
	Deadline Deadline `json:"deadline,omitzero"`
	// Operation holds exactly one operation.
	Operation Operation `json:"operation"`
}

// Deadline bounds one operation three times over: at Soft an upload is cancelled and what is stored is saved, at Hard
// the context ends, and one minute later a watchdog ends the process. The Job's own deadline stands 120 s behind Hard.
type Deadline struct {
	SoftSeconds int64 `json:"softSeconds,omitempty"`
	HardSeconds int64 `json:"hardSeconds,omitempty"`
}

// WatchdogGrace is the time between the hard deadline and the end of the process. Some waits inside kopia look at the
// context only between sleeps of up to 32 s.
const WatchdogGrace = time.Minute

// JobGrace is how far the Job's activeDeadlineSeconds stands behind the hard deadline: it deletes the pod and with it
// the result, so it must never be first.
const JobGrace = 2 * time.Minute

// TerminationGrace is the pod's terminationGracePeriodSeconds: what a mover gets between SIGTERM and SIGKILL to save and
// flush what it has. The mover ends itself shortly before, with a result.
const TerminationGrace = 2 * time.Minute

// DefaultHardSeconds and DefaultSoftSeconds apply where a Spec names no deadline: 48 h, and five minutes before it.
const (
	DefaultHardSeconds int64 = 48 * 3600
	DefaultSoftSeconds int64 = DefaultHardSeconds - 300
)

// MaxSeconds bounds every time that a user gives in seconds: ten years, which nothing lasts. Larger ones do not fit into
// the nanoseconds of a timer, which then fires at once.
const MaxSeconds int64 = 10 * 365 * 24 * 3600

// OrDefault fills in what the deadline leaves out. A soft deadline is never behind the hard one.
func (d Deadline) OrDefault() Deadline {
	if d.HardSeconds <= 0 {
		d.HardSeconds = DefaultHardSeconds
	}
	d.HardSeconds = min(d.HardSeconds, MaxSeconds)
	if d.SoftSeconds <= 0 || d.SoftSeconds > d.HardSeconds {
		d.SoftSeconds = d.HardSeconds - min(300, d.HardSeconds/10)
	}
	return d
}

// Repository is all a mover needs to connect.
type Repository struct {
	// Name is how messages call the repository ("Repository apps/nas"). It has no other meaning.
	Name    string  `json:"name,omitempty"`
	Backend Backend `json:"backend"`
	// PasswordKey is the file name of the password below PasswordDir.
	PasswordKey string `json:"passwordKey"`
	// Username and Hostname are the client's identity to kopia: the maintenance owner, never the pod's name (K-6).
	Username string `json:"username"`
	Hostname string `json:"hostname"`
	// ExpectedUniqueID is the id pinned at the first connect, in hex. With it set nothing is ever created, and another
	// id is an error.
	ExpectedUniqueID string    `json:"expectedUniqueID,omitempty"`
	ReadOnly         bool      `json:"readOnly,omitempty"`
	Cache            Cache     `json:"cache,omitzero"`
	Throttle         *Throttle `json:"throttle,omitempty"`
}

// Cache bounds what kopia keeps below CacheDir. All sizes in bytes; zero means that the mover derives it.
type Cache struct {
	// CapacityBytes is the size of the volume. Content and metadata together stay below 80 % of it (G-1, G-3).
	CapacityBytes      int64 `json:"capacityBytes,omitempty"`
	ContentLimitBytes  int64 `json:"contentLimitBytes,omitempty"`
	MetadataLimitBytes int64 `json:"metadataLimitBytes,omitempty"`
}

// Throttle limits one connection. Zero means no limit.
type Throttle struct {
	UploadBytesPerSecond   int64 `json:"uploadBytesPerSecond,omitempty"`
	DownloadBytesPerSecond int64 `json:"downloadBytesPerSecond,omitempty"`
	ReadOpsPerSecond       int64 `json:"readOpsPerSecond,omitempty"`
	WriteOpsPerSecond      int64 `json:"writeOpsPerSecond,omitempty"`
}

// Identity is what kopia files a snapshot under.
type Identity struct {
	Username string `json:"username"`
	Hostname string `json:"hostname"`
	Path     string `json:"path"`
}

// SnapshotKey names one stored snapshot. Its id changes when it is pinned, its identity and the second it started in do
// not (K-3): where the id is gone they find it again, and what has the id without being it is never touched.
type SnapshotKey struct {
	SnapshotID string    `json:"snapshotID,omitempty"`
	Identity   Identity  `json:"identity"`
	StartTime  time.Time `json:"startTime,omitzero"`
}

// Operation holds exactly one operation.
type Operation struct {
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
	Resolve   *Resolve   `json:"resolve,omitempty"`
	Restore   *Restore   `json:"restore,omitempty"`
	Delete    *Delete    `json:"delete,omitempty"`
	Pin       *Pin       `json:"pin,omitempty"`
	Verify    *Verify    `json:"verify,omitempty"`
	Maintain  *Maintain  `json:"maintain,omitempty"`

	Replicate      *Replicate      `json:"replicate,omitempty"`
	Migrate        *Migrate        `json:"migrate,omitempty"`
	Seed           *Seed           `json:"seed,omitempty"`
	Browse         *Browse         `json:"browse,omitempty"`
	StreamSnapshot *StreamSnapshot `json:"streamSnapshot,omitempty"`
	StreamRestore  *StreamRestore  `json:"streamRestore,omitempty"`
	UI             *UI             `json:"ui,omitempty"`
}

// Name is the operation's key, "" unless exactly one is set.
func (o Operation) Name() string {
	name, n := "", 0
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			name, n = tag, n+1
		}
	}
	if n != 1 {
		return ""
	}
	return name
}

// Snapshot stores one source.
type Snapshot struct {
	Identity Identity `json:"identity"`
	// Path is where the source is mounted, DevicePath where the block device of a source without a file system is.
	// Exactly one of them is set.
	Path       string `json:"path,omitempty"`
	DevicePath string `json:"devicePath,omitempty"`
	// MustBeReadOnly refuses a source that is mounted writable: its claim was published read-write because its driver
	// knows nothing else, and the container's mount is all that protects it.
	MustBeReadOnly bool              `json:"mustBeReadOnly,omitempty"`
	Description    string            `json:"description,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	// Pinned stores the snapshot with Kopiur's pin, so that no second mover has to, which would change its id.
	Pinned bool           `json:"pinned,omitempty"`
	Policy SnapshotPolicy `json:"policy,omitzero"`
	// FailFast ends the run at the first unreadable entry.
	FailFast      bool  `json:"failFast,omitempty"`
	UploadLimitMB int64 `json:"uploadLimitMb,omitempty"`
	// CheckpointSeconds is the time between checkpoints; zero means kopia's own (45 min), its maximum.
	CheckpointSeconds int64 `json:"checkpointSeconds,omitempty"`
}

// SnapshotPolicy is the part of kopia's policy that one run uses. It is not stored in the repository.
type SnapshotPolicy struct {
	Compression          string   `json:"compression,omitempty"`
	NeverCompress        []string `json:"neverCompress,omitempty"`
	MaxParallelFileReads int      `json:"maxParallelFileReads,omitempty"`
	IgnoreRules          []string `json:"ignoreRules,omitempty"`
	IgnoreCacheDirs      *bool    `json:"ignoreCacheDirs,omitempty"`
	IgnoreIdentical      bool     `json:"ignoreIdentical,omitempty"`
	IgnoreFileErrors     bool     `json:"ignoreFileErrors,omitempty"`
	IgnoreDirErrors      bool     `json:"ignoreDirErrors,omitempty"`
	IgnoreUnknownTypes   *bool    `json:"ignoreUnknownTypes,omitempty"`
}

// Resolve asks which snapshot a restore means.
type Resolve struct {
	Identity Identity `json:"identity"`
	// SnapshotID names one manifest, which must be of the identity as far as that is given; with it AsOf and Offset have no
	// meaning.
	SnapshotID string `json:"snapshotID,omitempty"`
	// AsOf is the latest acceptable start time.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Offset skips that many of the newest candidates, counted after AsOf.
	Offset int64 `json:"offset,omitempty"`
}

// Restore writes one snapshot, or a part of it, into a folder or onto a block device.
type Restore struct {
	SnapshotID string `json:"snapshotID"`
	// Identity and StartTime find the snapshot again when its manifest id has changed (pinning rewrites it, K-3).
	Identity  Identity   `json:"identity,omitzero"`
	StartTime *time.Time `json:"startTime,omitempty"`
	// SubPath is the file or folder of the snapshot to restore; empty means all of it. What a folder holds goes right
	// into the target, a file goes into it under its own name.
	SubPath string `json:"subPath,omitempty"`
	// TargetPath is where the target is mounted, DevicePath where the block device of a target without a file system is.
	// Exactly one of them is set.
	TargetPath string         `json:"targetPath,omitempty"`
	DevicePath string         `json:"devicePath,omitempty"`
	Options    RestoreOptions `json:"options,omitzero"`
}

// RestoreOptions are tri-state: absent means the default named beside each.
type RestoreOptions struct {
	Parallel               int   `json:"parallel,omitempty"`               // 8, fewer on small machines
	EnableFileDeletion     *bool `json:"enableFileDeletion,omitempty"`     // false
	IgnorePermissionErrors *bool `json:"ignorePermissionErrors,omitempty"` // true
	WriteFilesAtomically   *bool `json:"writeFilesAtomically,omitempty"`   // true
	WriteSparseFiles       *bool `json:"writeSparseFiles,omitempty"`       // false
	SkipOwners             *bool `json:"skipOwners,omitempty"`             // false
	SkipPermissions        *bool `json:"skipPermissions,omitempty"`        // false
	SkipTimes              *bool `json:"skipTimes,omitempty"`              // false
	OverwriteFiles         *bool `json:"overwriteFiles,omitempty"`         // true
	OverwriteDirectories   *bool `json:"overwriteDirectories,omitempty"`   // true
	OverwriteSymlinks      *bool `json:"overwriteSymlinks,omitempty"`      // true
	IgnoreErrors           *bool `json:"ignoreErrors,omitempty"`           // false
	SkipExisting           *bool `json:"skipExisting,omitempty"`           // false
}
