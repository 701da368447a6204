// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

// NodeGetCapabilities offers nothing: no staging, no expansion, no statistics.
func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodePublishVolume(_ context.Context, q *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if err := d.faults.message("mount-error"); err != nil {
		return nil, asStatus(err)
	}
	have, err := d.disk.get(volume, q.GetVolumeId())
	if err != nil {
		return nil, asStatus(err)
	}
	if have.Block != isBlock(q.GetVolumeCapability()) {
		return nil, status.Errorf(codes.InvalidArgument, "volume %s has another volumeMode", have.ID)
	}
	data, err := d.disk.data(volume, q.GetVolumeId())
	if err != nil {
		return nil, asStatus(err)
	}
	target := q.GetTargetPath()
	leave, err := d.busy.enter(target)
	if err != nil {
		return nil, err
	}
	defer leave()

	switch mounted, err := isMounted(target); {
	case err != nil:
		return nil, asStatus(err)
	case mounted:
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if have.Block {
		// Whether a pod may write to a device is the kubelet's business: it says so to the container's device list.
		if err := d.loops.publish(have.ID, filepath.Join(data, image), target); err != nil {
			return nil, asStatus(err)
		}
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return nil, asStatus(err)
	}
	if err := syscall.Mount(data, target, "", syscall.MS_BIND, ""); err != nil {
		return nil, status.Errorf(codes.Internal, "bind %s: %v", target, err)
	}
	if q.GetReadonly() || readOnlyMode(q.GetVolumeCapability().GetAccessMode().GetMode()) {
		// The kernel ignores MS_RDONLY on the first bind; it takes a second call.
		if err := syscall.Mount("", target, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			return nil, status.Errorf(codes.Internal, "make %s read-only: %v", target, err)
		}
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(_ context.Context, q *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	target := q.GetTargetPath()
	leave, err := d.busy.enter(target)
	if err != nil {
		return nil, err
	}
	defer leave()
	// EINVAL: not a mount point. ENOENT: not even a folder. Both mean that an earlier call got this far.
	err = syscall.Unmount(target, 0)
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
		return nil, status.Errorf(codes.Internal, "unmount %s: %v", target, err)
	}
	d.loops.release(q.GetVolumeId(), target)
	if err := os.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, asStatus(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func readOnlyMode(mode csi.VolumeCapability_AccessMode_Mode) bool {
	return mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY ||
		mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
}

func isMounted(target string) (bool, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	defer f.Close()
	// mountinfo writes a blank as \040, and the kubelet's paths have none.
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && fields[4] == target {
			return true, nil
		}
	}
	return false, nil
}
