// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

func block() *csi.VolumeCapability {
	return &csi.VolumeCapability{AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}}
}

func (d *driver) blockVolume(t *testing.T, name string, bytes int64, source *csi.VolumeContentSource) (string, error) {
	t.Helper()
	answer, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeContentSource: source,
		VolumeCapabilities: []*csi.VolumeCapability{block()},
	})
	return answer.GetVolume().GetVolumeId(), err
}

func TestABlockVolumeHasItsSizeAndIsCopiedWithItsBytes(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	id, err := d.blockVolume(t, "pvc-1", 1<<20, nil)
	check(t, err)
	st, err := os.Stat(d.path(t, id, image))
	check(t, err)
	if st.Size() != 1<<20 {
		t.Fatalf("it has %d bytes", st.Size())
	}
	f, err := os.OpenFile(d.path(t, id, image), os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt([]byte("content"), 4096)
	check(t, err)
	check(t, f.Close())

	taken, err := d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "snap", SourceVolumeId: id})
	check(t, err)
	larger, err := d.blockVolume(t, "pvc-2", 2<<20, fromSnapshot(taken.GetSnapshot().GetSnapshotId()))
	check(t, err)
	b, err := os.ReadFile(d.path(t, larger, image))
	check(t, err)
	if len(b) != 2<<20 || string(b[4096:4103]) != "content" {
		t.Fatalf("%d bytes, %q", len(b), b[4096:4103])
	}
	_, err = d.volume(t, "pvc-3", 2<<20, fromSnapshot(taken.GetSnapshot().GetSnapshotId()))
	wantCode(t, err, codes.InvalidArgument)
	_, err = d.volume(t, "pvc-1", 1<<20, nil)
	wantCode(t, err, codes.AlreadyExists)
}

func TestAPublishedBlockVolumeIsADeviceUntilTheLastTargetGoes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes devices and mounts")
	}
	d := newDriver(t, true)
	id, err := d.blockVolume(t, "pvc-1", 1<<20, nil)
	check(t, err)
	targets := []string{filepath.Join(t.TempDir(), "publish", "one"), filepath.Join(t.TempDir(), "two")}
	for _, target := range append(targets, targets[0]) {
		_, err := d.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: id, TargetPath: target, VolumeCapability: block()})
		check(t, err)
	}
	dev := d.loops.held[id].dev.Name()
	f, err := os.OpenFile(targets[0], os.O_WRONLY|os.O_SYNC, 0)
	check(t, err)
	st, err := f.Stat()
	check(t, err)
	if st.Mode().Type() != os.ModeDevice {
		t.Fatalf("it is %s", st.Mode())
	}
	_, err = f.WriteAt(make([]byte, 512), 512)
	check(t, err)
	_, err = f.WriteAt([]byte("written through the device"), 4096)
	check(t, err)
	check(t, f.Close())
	b, err := os.ReadFile(d.path(t, id, image))
	check(t, err)
	if string(b[4096:4103]) != "written" {
		t.Fatalf("the image holds %q", b[4096:4103])
	}
	_, err = d.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: id, TargetPath: filepath.Join(t.TempDir(), "three")})
	wantCode(t, err, codes.InvalidArgument)
	for i, target := range append(targets, targets[0]) {
		_, err := d.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: id, TargetPath: target})
		check(t, err)
		_, err = os.Stat(filepath.Join("/sys/block", filepath.Base(dev), "loop", "backing_file"))
		if attached := err == nil; attached != (i == 0) {
			t.Fatalf("after target %d: attached %v", i, attached)
		}
	}
}
