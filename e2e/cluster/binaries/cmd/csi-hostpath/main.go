// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command csi-hostpath is a CSI driver for one node whose volumes are folders and whose snapshots are copies of them. A
// block volume is a file in such a folder behind a loop device, and a volume whose class has the parameter limit=true a file
// system in memory that gets full. Snapshots of a group are copies that were made while all
// pods that use one of its volumes stood still.
// It exists so that the test cluster has dynamic volumes, snapshots, clones and restores without any image. It
// announces itself to the kubelet, so no registrar runs beside it, and it has switches that make storage misbehave on
// purpose (see faults.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	if err := run(); err != nil {
		log.Fatalf("csi-hostpath: %v", err)
	}
}

func run() error {
	name := flag.String("name", "", "driver name")
	node := flag.String("node", "", "name of the node this driver serves")
	root := flag.String("root", "", "folder that holds volumes, snapshots and fault switches")
	socket := flag.String("socket", "", "path of the CSI socket")
	registry := flag.String("registry", "", "the kubelet's plugins_registry folder")
	snapshots := flag.Bool("snapshots", true, "offer snapshots; clones are always offered")
	flag.Parse()
	for flagName, value := range map[string]string{"name": *name, "node": *node, "root": *root, "socket": *socket, "registry": *registry} {
		if value == "" {
			return fmt.Errorf("flag -%s is required", flagName)
		}
	}

	disk, err := openStore(*root)
	if err != nil {
		return err
	}
	d := &driver{name: *name, node: *node, snapshots: *snapshots, disk: disk, faults: faults{dir: filepath.Join(*root, "faults")}}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ended := make(chan error, 2)
	plugin, err := serve(*socket, ended, func(s *grpc.Server) {
		csi.RegisterIdentityServer(s, d)
		csi.RegisterControllerServer(s, d)
		csi.RegisterGroupControllerServer(s, d)
		csi.RegisterNodeServer(s, d)
	})
	if err != nil {
		return err
	}
	defer plugin.Stop()
	// The kubelet calls the endpoint as soon as it sees the registration socket, so this one comes second.
	reg, err := serve(filepath.Join(*registry, *name+"-reg.sock"), ended, func(s *grpc.Server) {
		registration.RegisterRegistrationServer(s, &registrar{name: *name, endpoint: *socket})
	})
	if err != nil {
		return err
	}
	defer reg.Stop()

	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// serve starts a gRPC server on a unix socket, in place of whatever an earlier process left there.
func serve(socket string, ended chan<- error, register func(*grpc.Server)) (*grpc.Server, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logCalls))
	register(server)
	go func() { ended <- server.Serve(listener) }()
	return server, nil
}

// logCalls writes one line per call; probes come every few seconds and would drown the rest.
func logCalls(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	if info.FullMethod != csi.Identity_Probe_FullMethodName {
		log.Printf("call=%s err=%v", info.FullMethod, err)
	}
	return answer, err
}

// registrar answers the kubelet's plugin watcher.
type registrar struct {
	registration.UnimplementedRegistrationServer

	name, endpoint string
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log.Printf("registered=%v error=%q", s.GetPluginRegistered(), s.GetError())
	return &registration.RegistrationStatusResponse{}, nil
}
