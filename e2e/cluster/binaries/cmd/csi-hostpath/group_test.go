// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

func (d *driver) group(t *testing.T, name string, volumes ...string) (*csi.VolumeGroupSnapshot, error) {
	t.Helper()
	answer, err := d.CreateVolumeGroupSnapshot(t.Context(), &csi.CreateVolumeGroupSnapshotRequest{Name: name, SourceVolumeIds: volumes})
	return answer.GetGroupSnapshot(), err
}

func TestAGroupIsOneSnapshotOfEachVolumeAndMadeOnce(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	a, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	b, err := d.volume(t, "pvc-2", 20, nil)
	check(t, err)
	for _, id := range []string{a, b} {
		check(t, os.WriteFile(d.path(t, id, "file"), []byte("before "+id), 0o600))
	}
	first, err := d.group(t, "group", a, b)
	check(t, err)
	for _, id := range []string{a, b} {
		check(t, os.WriteFile(d.path(t, id, "file"), []byte("after"), 0o600))
	}
	again, err := d.group(t, "group", b, a)
	check(t, err)
	if first.GetGroupSnapshotId() != again.GetGroupSnapshotId() || !first.GetReadyToUse() || len(again.GetSnapshots()) != 2 {
		t.Fatalf("%v and %v", first, again)
	}
	for _, s := range again.GetSnapshots() {
		if s.GetGroupSnapshotId() != first.GetGroupSnapshotId() {
			t.Fatalf("of group %s", s.GetGroupSnapshotId())
		}
		restored, err := d.volume(t, "restored-"+s.GetSourceVolumeId(), 20, fromSnapshot(s.GetSnapshotId()))
		check(t, err)
		content, err := os.ReadFile(d.path(t, restored, "file"))
		check(t, err)
		if string(content) != "before "+s.GetSourceVolumeId() {
			t.Fatalf("restored %q", content)
		}
	}
	_, err = d.group(t, "group", a)
	wantCode(t, err, codes.AlreadyExists)
	_, err = d.group(t, "other", a, "volume-none")
	wantCode(t, err, codes.NotFound)
	_, err = d.group(t, "empty")
	wantCode(t, err, codes.InvalidArgument)
}

func TestAGroupGoesWithItsSnapshots(t *testing.T) {
	t.Parallel()
	d := newDriver(t, true)
	a, err := d.volume(t, "pvc-1", 10, nil)
	check(t, err)
	made, err := d.group(t, "group", a)
	check(t, err)
	var ids []string
	for _, s := range made.GetSnapshots() {
		ids = append(ids, s.GetSnapshotId())
	}
	for range 2 {
		_, err := d.DeleteVolumeGroupSnapshot(t.Context(), &csi.DeleteVolumeGroupSnapshotRequest{GroupSnapshotId: made.GetGroupSnapshotId(), SnapshotIds: ids})
		check(t, err)
	}
	_, err = d.GetVolumeGroupSnapshot(t.Context(), &csi.GetVolumeGroupSnapshotRequest{GroupSnapshotId: made.GetGroupSnapshotId()})
	wantCode(t, err, codes.NotFound)
	listed, err := d.ListSnapshots(t.Context(), &csi.ListSnapshotsRequest{})
	check(t, err)
	if len(listed.GetEntries()) != 0 {
		t.Fatalf("left %v", listed)
	}
}

func TestADriverWithoutSnapshotsOffersNoGroups(t *testing.T) {
	t.Parallel()
	d := newDriver(t, false)
	plugin, err := d.GetPluginCapabilities(t.Context(), nil)
	check(t, err)
	offered, err := d.GroupControllerGetCapabilities(t.Context(), nil)
	check(t, err)
	if len(plugin.GetCapabilities()) != 1 || len(offered.GetCapabilities()) != 0 {
		t.Fatalf("offers %v %v", plugin, offered)
	}
	_, err = d.group(t, "g", "v")
	wantCode(t, err, codes.Unimplemented)
}

func TestWritersAreThoseOutsideThatHaveAVolumeMounted(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	for pid, p := range map[string]struct{ namespace, mounts string }{
		"self": {"mnt:[1]", ""},
		"10":   {"mnt:[1]", "30 20 8:1 /csi/d/volumes/volume-a/data /var/lib/kubelet/pods/x rw - ext4 /dev/vda rw\n"},
		"11":   {"mnt:[2]", "30 20 8:1 / / rw - overlay overlay rw\n31 20 8:1 /csi/d/volumes/volume-a/data /data rw - ext4 /dev/vda rw\n"},
		"12":   {"mnt:[3]", "31 20 8:1 /csi/d/volumes/volume-b/data /data rw - ext4 /dev/vda rw\n"},
		"13":   {"mnt:[4]", "31 20 8:1 /d/volumes/volume-a/data /data rw - ext4 /dev/vda rw\n"},
		"sys":  {"mnt:[5]", "31 20 8:1 /csi/d/volumes/volume-a/data /data rw - ext4 /dev/vda rw\n"},
	} {
		check(t, os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755))
		check(t, os.Symlink(p.namespace, filepath.Join(proc, pid, "ns", "mnt")))
		check(t, os.WriteFile(filepath.Join(proc, pid, "mountinfo"), []byte(p.mounts), 0o600))
	}
	found, err := writers(proc, []string{"/run/box/csi/d/volumes/volume-a/data"})
	check(t, err)
	if !slices.Equal(found, []int{11, 13}) {
		t.Fatalf("found %v", found)
	}
}

func TestAProcessThatWasStoppedStandsStill(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "1h")
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	check(t, still(t.Context(), cmd.Process.Pid))
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
	check(t, err)
	if state(raw) != "T" {
		t.Fatalf("state %s", state(raw))
	}
	if state([]byte("1 (a) b) S 0")) != "S" || state([]byte("nonsense")) != "?" {
		t.Fatal("the name is taken for the state")
	}
}
