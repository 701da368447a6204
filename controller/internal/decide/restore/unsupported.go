// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"

// Unsupported names the first field that asks for something this version does not carry out, and what to do in its
// place; both are "" where there is none. Such a Restore stalls: doing the rest of what it asks for would be another
// restore than the one that was meant.
func Unsupported(s kopiurv1.RestoreSpec) (field, advice string) {
	switch {
	case s.Source.Identity != nil:
		return "source.identity", "name a SnapshotPolicy with that spec.identity in source.fromPolicy"
	case s.Source.SnapshotRef == nil && s.Source.FromPolicy == nil:
		return "source", "set source.snapshotRef or source.fromPolicy"
	case s.Target.Populator != nil:
		return "target.populator", "restore into a claim with target.pvc, and start the application after that"
	case s.Target.StreamExec != nil:
		return "target.streamExec", "restore into a claim with target.pvc, and read the file from there"
	case s.Target.PVC == nil && s.Target.PVCRef == nil:
		return "target", "set target.pvc or target.pvcRef"
	case s.SubPath != "":
		return "subPath", "restore all of the snapshot into a claim of its own with target.pvc, and copy what you need"
	case s.CredentialProjection != nil && s.CredentialProjection.Enabled:
		return "credentialProjection.enabled", "create the repository's Secrets in this namespace"
	case s.Mover != nil && s.Mover.InheritSecurityContextFrom != nil:
		return "mover.inheritSecurityContextFrom", "set user and groups in mover.podSecurityContext"
	default:
		return "", ""
	}
}
