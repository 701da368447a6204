// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (d *driver) GroupControllerGetCapabilities(context.Context, *csi.GroupControllerGetCapabilitiesRequest) (*csi.GroupControllerGetCapabilitiesResponse, error) {
	answer := &csi.GroupControllerGetCapabilitiesResponse{}
	if d.snapshots {
		answer.Capabilities = append(answer.Capabilities, &csi.GroupControllerServiceCapability{Type: &csi.GroupControllerServiceCapability_Rpc{
			Rpc: &csi.GroupControllerServiceCapability_RPC{Type: csi.GroupControllerServiceCapability_RPC_CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT},
		}})
	}
	return answer, nil
}

// CreateVolumeGroupSnapshot copies all volumes while nobody writes to any of them. The group appears when all its copies
// are there; a call that was cut short is repeated from the start, because what it has copied is of another instant.
func (d *driver) CreateVolumeGroupSnapshot(ctx context.Context, q *csi.CreateVolumeGroupSnapshotRequest) (*csi.CreateVolumeGroupSnapshotResponse, error) {
	if !d.snapshots {
		return nil, status.Error(codes.Unimplemented, "this driver has no snapshots")
	}
	if err := d.faults.message("snapshot-error"); err != nil {
		return nil, asStatus(err)
	}
	sources := slices.Sorted(slices.Values(q.GetSourceVolumeIds()))
	if q.GetName() == "" || len(sources) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a group needs a name and volumes")
	}
	id := idFor(group, q.GetName())
	leave, err := d.busy.enter(id)
	if err != nil {
		return nil, err
	}
	defer leave()

	have, err := d.disk.get(group, id)
	switch {
	case errors.Is(err, errNotFound):
		have, err = d.makeGroup(ctx, id, q.GetName(), sources)
	case err == nil && !slices.Equal(have.Sources, sources):
		err = status.Errorf(codes.AlreadyExists, "group %s is of volumes %v", id, have.Sources)
	}
	if err != nil {
		return nil, asStatus(err)
	}
	described, err := d.describeGroup(have)
	if err != nil {
		return nil, asStatus(err)
	}
	return &csi.CreateVolumeGroupSnapshotResponse{GroupSnapshot: described}, nil
}

func (d *driver) makeGroup(ctx context.Context, id, name string, sources []string) (made record, err error) {
	made = record{ID: id, Name: name, Sources: sources, Created: time.Now()}
	folders := make([]string, 0, len(sources))
	for _, source := range sources {
		if _, err := d.disk.get(volume, source); err != nil {
			return record{}, err
		}
		folder, err := d.disk.data(volume, source)
		if err != nil {
			return record{}, err
		}
		folders = append(folders, folder)
	}
	resume, err := holdWriters(ctx, folders)
	defer func() { err = errors.Join(err, resume()) }()
	if err != nil {
		return record{}, err
	}
	made.Created = time.Now()
	for i, source := range sources {
		origin, err := d.disk.get(volume, source)
		if err != nil {
			return record{}, err
		}
		r := record{
			ID: memberID(id, source), Name: name, Source: source, Group: id,
			Bytes: origin.Bytes, Block: origin.Block, Created: made.Created,
		}
		// A copy that an earlier call left is of another instant.
		if err := d.disk.remove(snapshot, r.ID); err != nil {
			return record{}, err
		}
		if err := d.disk.create(ctx, snapshot, r, folders[i]); err != nil {
			return record{}, err
		}
	}
	return made, d.disk.create(ctx, group, made, "")
}

func memberID(groupID, source string) string { return idFor(snapshot, groupID+"/"+source) }

func (d *driver) describeGroup(r record) (*csi.VolumeGroupSnapshot, error) {
	out := &csi.VolumeGroupSnapshot{
		GroupSnapshotId: r.ID, CreationTime: timestamppb.New(r.Created), ReadyToUse: !d.faults.on("snapshot-not-ready"),
	}
	for _, source := range r.Sources {
		member, err := d.disk.get(snapshot, memberID(r.ID, source))
		if err != nil {
			return nil, err
		}
		out.Snapshots = append(out.Snapshots, d.describe(member))
	}
	return out, nil
}

func (d *driver) GetVolumeGroupSnapshot(_ context.Context, q *csi.GetVolumeGroupSnapshotRequest) (*csi.GetVolumeGroupSnapshotResponse, error) {
	have, err := d.disk.get(group, q.GetGroupSnapshotId())
	if err != nil {
		return nil, asStatus(err)
	}
	described, err := d.describeGroup(have)
	if err != nil {
		return nil, asStatus(err)
	}
	return &csi.GetVolumeGroupSnapshotResponse{GroupSnapshot: described}, nil
}

// DeleteVolumeGroupSnapshot removes the group first: one without some of its snapshots must never be found.
func (d *driver) DeleteVolumeGroupSnapshot(_ context.Context, q *csi.DeleteVolumeGroupSnapshotRequest) (*csi.DeleteVolumeGroupSnapshotResponse, error) {
	leave, err := d.busy.enter(q.GetGroupSnapshotId())
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := d.disk.remove(group, q.GetGroupSnapshotId()); err != nil {
		return nil, asStatus(err)
	}
	for _, id := range q.GetSnapshotIds() {
		if err := d.disk.remove(snapshot, id); err != nil {
			return nil, asStatus(err)
		}
	}
	return &csi.DeleteVolumeGroupSnapshotResponse{}, nil
}
