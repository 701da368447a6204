// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"strings"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Of names the group that a Snapshot's claim is cut with, "" where it is cut for itself.
func Of(s *kopiurv1.Snapshot) string {
	if s.Spec.Source == nil || s.Spec.Source.Group == nil {
		return ""
	}
	return s.Spec.Source.Group.VolumeGroupSnapshotName
}

// Claims are those that a Snapshot is to cut together, nil where it does not make the group.
func Claims(s *kopiurv1.Snapshot) []string {
	if list := s.Annotations[kopiurv1.AnnotationGroupClaims]; Of(s) != "" && list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// Waits reports whether a Snapshot's claim is cut by another one.
func Waits(s *kopiurv1.Snapshot) bool { return Of(s) != "" && Claims(s) == nil }
