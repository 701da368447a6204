// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The module has no assertion library, and one would change what every binary of it is built from.

func newDriver(t *testing.T, snapshots bool) *driver {
	t.Helper()
	root := t.TempDir()
	disk, err := openStore(root)
	check(t, err)
	check(t, os.Mkdir(filepath.Join(root, "faults"), 0o755))
	return &driver{name: "d", node: "n", snapshots: snapshots, disk: disk, faults: faults{dir: filepath.Join(root, "faults")}}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}

func (d *driver) volume(t *testing.T, name string, bytes int64, source *csi.VolumeContentSource) (string, error) {
	t.Helper()
	answer, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: name, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}, VolumeContentSource: source,
	})
	return answer.GetVolume().GetVolumeId(), err
}

func fromSnapshot(id string) *csi.VolumeContentSource {
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: id},
	}}
}

func (d *driver) path(t *testing.T, id, file string) string {
	t.Helper()
	data, err := d.disk.data(volume, id)
	check(t, err)
	return filepath.Join(data, file)
}

func TestCreatingAVolumeTwiceIsOneVolume(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	first, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	second, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	if first != second {
		t.Fatalf("ids %s and %s", first, second)
	}
	_, err = d.volume(t, "pvc-1", 20, nil)
	wantCode(t, err, codes.AlreadyExists)
}

func TestARestoredVolumeHoldsWhatTheSnapshotHeld(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	origin, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	check(t, os.WriteFile(d.path(t, origin, "file"), []byte("before"), 0o600))
	taken, err := d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "snap", SourceVolumeId: origin})
	check(t, err)
	check(t, os.WriteFile(d.path(t, origin, "file"), []byte("after"), 0o600))

	restored, err := d.volume(t, "pvc-2", 20, fromSnapshot(taken.GetSnapshot().GetSnapshotId()))
	check(t, err)
	content, err := os.ReadFile(d.path(t, restored, "file"))
	check(t, err)
	if string(content) != "before" {
		t.Fatalf("restored %q", content)
	}
	_, err = d.volume(t, "pvc-3", 5, fromSnapshot(taken.GetSnapshot().GetSnapshotId()))
	wantCode(t, err, codes.OutOfRange)
	_, err = d.volume(t, "pvc-4", 10, fromSnapshot("snapshot-none"))
	wantCode(t, err, codes.NotFound)
}

func TestDeletingIsIdempotentAndStaysInTheStore(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	id, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	for _, target := range []string{id, id, "../volumes", "never-was"} {
		_, err := d.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: target})
		check(t, err)
	}
	if _, err := os.Stat(filepath.Join(d.disk.root, "volumes")); err != nil {
		t.Fatal(err)
	}
}

func TestASnapshotIsNotReadyWhileTheFaultIsOn(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	origin, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	fault := filepath.Join(d.faults.dir, "snapshot-not-ready")
	check(t, os.WriteFile(fault, nil, 0o600))
	request := &csi.CreateSnapshotRequest{Name: "snap", SourceVolumeId: origin}
	for _, want := range []bool{false, true} {
		taken, err := d.CreateSnapshot(t.Context(), request)
		check(t, err)
		listed, err := d.ListSnapshots(t.Context(), &csi.ListSnapshotsRequest{SnapshotId: taken.GetSnapshot().GetSnapshotId()})
		check(t, err)
		if got := taken.GetSnapshot().GetReadyToUse(); got != want || len(listed.GetEntries()) != 1 || listed.GetEntries()[0].GetSnapshot().GetReadyToUse() != want {
			t.Fatalf("ready %v, listed %v, want %v", got, listed, want)
		}
		_ = os.Remove(fault)
	}
}

func TestASlowCloneWaitsAndGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	origin, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	clone := &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: origin},
	}}
	check(t, os.WriteFile(filepath.Join(d.faults.dir, "slow-clone"), []byte("1h\n"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.CreateVolume(ctx, &csi.CreateVolumeRequest{
		Name: "pvc-2", CapacityRange: &csi.CapacityRange{RequiredBytes: 10}, VolumeContentSource: clone,
	}); err == nil {
		t.Fatal("did not wait")
	}
	check(t, os.WriteFile(filepath.Join(d.faults.dir, "slow-clone"), []byte("soon"), 0o600))
	_, err = d.volume(t, "pvc-3", 10, clone)
	wantCode(t, err, codes.Internal)
	check(t, os.WriteFile(filepath.Join(d.faults.dir, "slow-clone"), []byte("1ms"), 0o600))
	_, err = d.volume(t, "pvc-4", 10, clone)
	check(t, err)
}

func TestADriverWithoutSnapshotsOffersNone(t *testing.T) {
	t.Parallel()
	d := newDriver(t, false)
	answer, err := d.ControllerGetCapabilities(t.Context(), nil)
	check(t, err)
	for _, capability := range answer.GetCapabilities() {
		if capability.GetRpc().GetType() == csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT {
			t.Fatal("offers snapshots")
		}
	}
	_, err = d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: "v"})
	wantCode(t, err, codes.Unimplemented)
}

func TestOneCallAtATimeWorksOnAVolume(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	leave, err := d.busy.enter(idFor(volume, "pvc-1"))
	check(t, err)
	_, err = d.volume(t, "pvc-1", 10, nil)
	wantCode(t, err, codes.Aborted)
	leave()
	_, err = d.volume(t, "pvc-1", 10, nil)
	check(t, err)
}
