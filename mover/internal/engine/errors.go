// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/snapshot"
)

// Facts that callers branch on. Kopia's own sentinels are exported again here, so that nobody else imports kopia.
var (
	// ErrWrongPassword: there is a repository, and this is not its password.
	ErrWrongPassword = repo.ErrInvalidPassword
	// ErrUpgrading: another kopia holds the upgrade lock.
	ErrUpgrading = repo.ErrRepositoryUnavailableDueToUpgradeInProgress
	// ErrStoreCredentials: the store says that the session token has expired.
	ErrStoreCredentials = blob.ErrInvalidCredentials
	// ErrBlobNotFound: a blob that must exist does not.
	ErrBlobNotFound = blob.ErrBlobNotFound
	// ErrSnapshotNotFound: no manifest has this id.
	ErrSnapshotNotFound = snapshot.ErrSnapshotNotFound

	// ErrMismatch: what was found is not, or may not be, the snapshot that was asked for.
	ErrMismatch = errors.New("this is not the snapshot that was asked for")

	// ErrNotInitialized: the location is reachable, and proven to hold nothing.
	ErrNotInitialized = errors.New("no repository here")
	// ErrOccupied: the location holds something, and it is not a kopia repository. Nothing was written.
	ErrOccupied = errors.New("the location holds something that is not a kopia repository")
	// ErrOtherRepository: the location holds a repository, and not the one that is meant. Nothing was written.
	ErrOtherRepository = errors.New("the location holds another repository")
	// ErrSourceEmpty: the source of a copy holds nothing that could be copied.
	ErrSourceEmpty = errors.New("the source is empty")
	// ErrVanished: a repository was known here and is gone, or another one is in its place.
	ErrVanished = errors.New("the repository that was here is gone")
	// ErrLocationMissing: the bucket or folder does not exist.
	ErrLocationMissing = errors.New("the location does not exist")
	// ErrUnreachable: the store did not answer.
	ErrUnreachable = errors.New("the store does not answer")
	// ErrSlow: the store answers, but the work did not fit into its deadline.
	ErrSlow = errors.New("the store answers, but too slowly")
	// ErrStorage wraps whatever the store answered, so that it is not taken for a fault of the source or the target.
	ErrStorage = errors.New("the store failed")
	// ErrRefused: the store knows the login and does not take the key.
	ErrRefused = errors.New("the store refuses the credentials")
	// ErrNoCredentials: there are none, neither in a Secret nor from the cloud.
	ErrNoCredentials = errors.New("there are no credentials for the store")
	// ErrHostKey: the server's key is not one that it is known by.
	ErrHostKey = errors.New("the known hosts do not vouch for the server")
	// ErrNoRclone: the image has no rclone.
	ErrNoRclone = errors.New("this mover has no rclone; it is in the image whose tag ends in -rclone")
	// ErrSource wraps a fault of the source of a backup.
	ErrSource = errors.New("the source cannot be read")
	// ErrTarget wraps a fault of the target of a restore.
	ErrTarget = errors.New("the target cannot be written")
	// ErrScratch wraps a fault of the scratch volume of a verification.
	ErrScratch = errors.New("the scratch volume cannot be used")
	// ErrInterrupted: an upload was cancelled and saved as a checkpoint.
	ErrInterrupted = errors.New("interrupted; what was stored is kept as a checkpoint")
	// ErrInvalidOption: the user asks for something that kopia does not know.
	ErrInvalidOption = errors.New("invalid option")
	// ErrNotInSnapshot: the part of a snapshot that is asked for is not in it.
	ErrNotInSnapshot = errors.New("the snapshot does not hold it")
	// ErrClockSkew: the clocks of the mover and of the store are further apart than MaxSkew.
	ErrClockSkew = errors.New("the clocks of the mover and of the store differ")
	// ErrForeignOwner: kopia lets somebody else run maintenance.
	ErrForeignOwner = errors.New("maintenance belongs to another client")
	// ErrNothingRan: a maintenance came back without an error and without having run anything: somebody else is at it.
	ErrNothingRan = errors.New("another maintenance is under way")
	// ErrDamaged: the store answers, and has not got what its repository needs, or something else in its place.
	ErrDamaged = errors.New("the repository is damaged")
	// ErrUndecodable: a snapshot exists that cannot be decoded.
	ErrUndecodable = errors.New("a snapshot cannot be decoded")
	// ErrInUse: somebody else has the target device: it is mounted, or part of another one.
	ErrInUse = errors.New("the device is in use")
	// ErrTooSmall: the image does not fit onto the target device.
	ErrTooSmall = errors.New("the device is too small")
	// ErrBadName: a snapshot names an entry in a way that no file system can hold.
	ErrBadName = errors.New("the snapshot holds an entry with an impossible name")
)
