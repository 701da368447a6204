// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	types := []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
	}
	if d.snapshots {
		types = append(types,
			csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
			csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS)
	}
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range types {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, q *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if _, err := d.disk.get(volume, q.GetVolumeId()); err != nil {
		return nil, asStatus(err)
	}
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: q.GetVolumeCapabilities()},
	}, nil
}

func (d *driver) CreateVolume(ctx context.Context, q *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if q.GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "a volume needs a name")
	}
	id := idFor(volume, q.GetName())
	leave, err := d.busy.enter(id)
	if err != nil {
		return nil, err
	}
	defer leave()

	want, block := q.GetCapacityRange().GetRequiredBytes(), isBlock(q.GetVolumeCapabilities()...)
	limited := q.GetParameters()[limitParameter] == "true"
	if block && want%512 != 0 {
		want += 512 - want%512 // a device consists of sectors
	}
	have, err := d.disk.get(volume, id)
	switch {
	case errors.Is(err, errNotFound):
		have = record{ID: id, Name: q.GetName(), Bytes: want, Block: block, Limited: limited && !block, Created: time.Now()}
		err = d.makeVolume(ctx, have, q.GetVolumeContentSource())
	case err == nil && have.Block != block:
		err = status.Errorf(codes.AlreadyExists, "volume %s exists with another volumeMode", id)
	case err == nil && have.Bytes != want:
		err = status.Errorf(codes.AlreadyExists, "volume %s exists with %d bytes", id, have.Bytes)
	}
	if err != nil {
		return nil, asStatus(err)
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: id, CapacityBytes: have.Bytes, ContentSource: q.GetVolumeContentSource(),
	}}, nil
}

func (d *driver) makeVolume(ctx context.Context, r record, source *csi.VolumeContentSource) error {
	if source == nil {
		return d.disk.create(ctx, volume, r, "")
	}
	k, id := volume, source.GetVolume().GetVolumeId()
	if s := source.GetSnapshot().GetSnapshotId(); s != "" {
		k, id = snapshot, s
	}
	origin, err := d.disk.get(k, id)
	if err != nil {
		return err
	}
	// A copy may be larger than its source, never smaller.
	if r.Bytes < origin.Bytes {
		return status.Errorf(codes.OutOfRange, "%d bytes are asked for, the source has %d", r.Bytes, origin.Bytes)
	}
	if r.Block != origin.Block {
		return status.Errorf(codes.InvalidArgument, "the source has another volumeMode")
	}
	if err := d.faults.delay(ctx, "slow-clone"); err != nil {
		return err
	}
	from, err := d.disk.data(k, id)
	if err != nil {
		return err
	}
	return d.disk.create(ctx, volume, r, from)
}

func (d *driver) DeleteVolume(_ context.Context, q *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	leave, err := d.busy.enter(q.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer leave()
	return &csi.DeleteVolumeResponse{}, asStatus(d.disk.remove(volume, q.GetVolumeId()))
}

func (d *driver) CreateSnapshot(ctx context.Context, q *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	if !d.snapshots {
		return nil, status.Error(codes.Unimplemented, "this driver has no snapshots")
	}
	if err := d.faults.message("snapshot-error"); err != nil {
		return nil, asStatus(err)
	}
	id := idFor(snapshot, q.GetName())
	leave, err := d.busy.enter(id)
	if err != nil {
		return nil, err
	}
	defer leave()

	have, err := d.disk.get(snapshot, id)
	switch {
	case errors.Is(err, errNotFound):
		have, err = d.makeSnapshot(ctx, id, q)
	case err == nil && have.Source != q.GetSourceVolumeId():
		err = status.Errorf(codes.AlreadyExists, "snapshot %s is of volume %s", id, have.Source)
	}
	if err != nil {
		return nil, asStatus(err)
	}
	return &csi.CreateSnapshotResponse{Snapshot: d.describe(have)}, nil
}

func (d *driver) makeSnapshot(ctx context.Context, id string, q *csi.CreateSnapshotRequest) (record, error) {
	origin, err := d.disk.get(volume, q.GetSourceVolumeId())
	if err != nil {
		return record{}, err
	}
	from, err := d.disk.data(volume, origin.ID)
	if err != nil {
		return record{}, err
	}
	r := record{ID: id, Name: q.GetName(), Source: origin.ID, Bytes: origin.Bytes, Block: origin.Block, Created: time.Now()}
	return r, d.disk.create(ctx, snapshot, r, from)
}

func (d *driver) DeleteSnapshot(_ context.Context, q *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	return &csi.DeleteSnapshotResponse{}, asStatus(d.disk.remove(snapshot, q.GetSnapshotId()))
}

// ListSnapshots serves the snapshotter, which asks for one id. It returns everything that matches at once.
func (d *driver) ListSnapshots(_ context.Context, q *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	all, err := d.disk.list(snapshot)
	if err != nil {
		return nil, asStatus(err)
	}
	answer := &csi.ListSnapshotsResponse{}
	for _, r := range all {
		if (q.GetSnapshotId() == "" || q.GetSnapshotId() == r.ID) && (q.GetSourceVolumeId() == "" || q.GetSourceVolumeId() == r.Source) {
			answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: d.describe(r)})
		}
	}
	return answer, nil
}

func (d *driver) describe(r record) *csi.Snapshot {
	return &csi.Snapshot{
		SnapshotId: r.ID, SourceVolumeId: r.Source, SizeBytes: r.Bytes,
		CreationTime: timestamppb.New(r.Created), ReadyToUse: !d.faults.on("snapshot-not-ready"), GroupSnapshotId: r.Group,
	}
}
