// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// driver implements the four CSI services.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedGroupControllerServer
	csi.UnimplementedNodeServer

	name, node string
	snapshots  bool
	disk       *store
	faults     faults

	busy  inFlight
	loops loops
}

// inFlight refuses a second call for an id that is being worked on, so that a slow copy of one volume does not hold
// up the others.
type inFlight struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (f *inFlight) enter(id string) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids[id] {
		return nil, status.Errorf(codes.Aborted, "another call works on %s", id)
	}
	if f.ids == nil {
		f.ids = map[string]bool{}
	}
	f.ids[id] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.ids, id)
	}, nil
}

// asStatus turns an error of the store into a gRPC status.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, has := status.FromError(err); has {
		return err
	}
	if errors.Is(err, errNotFound) {
		return status.Error(codes.NotFound, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	services := []csi.PluginCapability_Service_Type{csi.PluginCapability_Service_CONTROLLER_SERVICE}
	if d.snapshots {
		services = append(services, csi.PluginCapability_Service_GROUP_CONTROLLER_SERVICE)
	}
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, s := range services {
		answer.Capabilities = append(answer.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: s}},
		})
	}
	return answer, nil
}
