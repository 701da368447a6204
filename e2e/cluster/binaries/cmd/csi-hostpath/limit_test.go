// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

func TestALimitedVolumeGetsFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	d := newDriver(t, true)
	create := func(name string, bytes int64, source *csi.VolumeContentSource) string {
		answer, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
			Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeContentSource: source,
			Parameters: map[string]string{limitParameter: "true"},
		})
		check(t, err)
		return answer.GetVolume().GetVolumeId()
	}
	id := create("pvc-1", 1<<20, nil)
	if again := create("pvc-1", 1<<20, nil); again != id {
		t.Fatalf("ids %s and %s", id, again)
	}
	check(t, os.WriteFile(d.path(t, id, "fits"), make([]byte, 512<<10), 0o600))
	err := os.WriteFile(d.path(t, id, "does not"), make([]byte, 1<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("it got %v", err)
	}
	check(t, os.Remove(d.path(t, id, "does not")))
	taken, err := d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "snap", SourceVolumeId: id})
	check(t, err)
	larger := create("pvc-2", 2<<20, fromSnapshot(taken.GetSnapshot().GetSnapshotId()))
	st, err := os.Stat(d.path(t, larger, "fits"))
	check(t, err)
	if st.Size() != 512<<10 {
		t.Fatalf("the copy has %d bytes", st.Size())
	}
	for _, v := range []string{id, larger} {
		_, err := d.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: v})
		check(t, err)
		if _, err := os.Stat(filepath.Dir(d.path(t, v, ""))); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s is left: %v", v, err)
		}
	}
}
