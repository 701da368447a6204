// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binariesModule builds every program of the cluster that is not ours. It is no member of the workspace: its
// requirements would raise everyone's.
const binariesModule = "e2e/cluster/binaries"

const (
	moduleKubernetes  = "k8s.io/kubernetes"
	moduleEtcd        = "go.etcd.io/etcd/server/v3"
	moduleContainerd  = "github.com/containerd/containerd/v2"
	moduleCoreDNS     = "github.com/coredns/coredns"
	moduleSnapshotter = "github.com/kubernetes-csi/external-snapshotter/v8"
	moduleProvisioner = "github.com/kubernetes-csi/external-provisioner/v6"
	moduleSnapshotAPI = "github.com/kubernetes-csi/external-snapshotter/client/v8"
)

// pauseImage is the image of every pod's sandbox.
const pauseImage = "localhost/kopiur/pause:1"

func (b *builder) versions() (map[string]string, error) {
	raw, err := os.ReadFile(filepath.Join(b.source, binariesModule, "go.mod"))
	if err != nil {
		return nil, err
	}
	return moduleVersions(raw), nil
}

// ldflags stamps versions into binaries that would report none, as they are not built from their own repositories.
// The API server derives from its version which API versions it serves.
func ldflags(versions map[string]string) string {
	kubernetes := versions[moduleKubernetes]
	parts := strings.SplitN(strings.TrimPrefix(kubernetes, "v"), ".", 3)
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, stamp := range []string{
			"gitVersion=" + kubernetes, "gitMajor=" + parts[0], "gitMinor=" + parts[1], "gitTreeState=clean",
			"gitCommit=0000000000000000000000000000000000000000", "buildDate=2026-01-01T00:00:00Z",
		} {
			flags = append(flags, "-X", pkg+"."+stamp)
		}
	}
	flags = append(flags, "-X", moduleContainerd+"/version.Version="+versions[moduleContainerd])
	return strings.Join(flags, " ")
}

// kubernetes is the one program that API tests need as well.
func (b *builder) kubernetes() (artifact, error) {
	versions, err := b.versions()
	if err != nil {
		return artifact{}, err
	}
	flags := ldflags(versions)
	return artifact{
		name:     "kubernetes",
		inputs:   []string{binariesModule + "/go.mod", binariesModule + "/go.sum", binariesModule + "/cmd/kubernetes"},
		settings: []string{flags},
		slow:     " (on two cores this takes eight minutes once, then it is cached)",
		build: func(ctx context.Context, into string) error {
			if err := b.compile(ctx, binariesModule, false, into, "-ldflags", flags, "./cmd/kubernetes"); err != nil {
				return err
			}
			for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"} {
				if err := os.Symlink("kubernetes", filepath.Join(into, name)); err != nil {
					return err
				}
			}
			return b.copySnapshotCRDs(ctx, filepath.Join(into, "snapshot-crds"))
		},
	}, nil
}

// node is what a node and its storage need.
func (b *builder) node() (artifact, error) {
	versions, err := b.versions()
	if err != nil {
		return artifact{}, err
	}
	flags := ldflags(versions)
	const tags = "no_btrfs no_zfs no_devmapper"
	return artifact{
		name:     "node",
		inputs:   []string{binariesModule + "/go.mod", binariesModule + "/go.sum", binariesModule + "/cmd/coredns"},
		settings: []string{flags, tags},
		slow:     " (on two cores this takes three minutes once, then it is cached)",
		build: func(ctx context.Context, into string) error {
			err := b.compile(ctx, binariesModule, false, into, "-tags", tags, "-ldflags", flags,
				moduleContainerd+"/cmd/containerd", moduleContainerd+"/cmd/ctr", moduleContainerd+"/cmd/containerd-shim-runc-v2")
			if err != nil {
				return err
			}
			return b.compile(ctx, binariesModule, false, into, "-ldflags", flags, "./cmd/coredns",
				moduleSnapshotter+"/cmd/snapshot-controller", moduleSnapshotter+"/cmd/csi-snapshotter", moduleProvisioner+"/cmd/csi-provisioner")
		},
	}, nil
}

// driver is our CSI driver.
func (b *builder) driver() artifact {
	return artifact{
		name:   "csi-hostpath",
		inputs: []string{binariesModule + "/go.mod", binariesModule + "/go.sum", binariesModule + "/cmd/csi-hostpath"},
		build: func(ctx context.Context, into string) error {
			return b.compile(ctx, binariesModule, false, into, "-ldflags", "-s -w", "./cmd/csi-hostpath")
		},
	}
}

// box is pid 1 of the box.
func (b *builder) box() artifact {
	return artifact{
		name:   "box",
		inputs: []string{"e2e/cmd/box", "e2e/internal/box"},
		build: func(ctx context.Context, into string) error {
			return b.compile(ctx, "e2e", true, into, "-ldflags", "-s -w", "./cmd/box")
		},
	}
}

// images are the archives that every box holds from the start: the sandbox's.
func (b *builder) images() artifact {
	return artifact{
		name:     "pause",
		inputs:   []string{"hack/image"},
		settings: []string{pauseImage},
		build: func(ctx context.Context, into string) error {
			if err := b.compile(ctx, "hack/image", false, into, "-ldflags", "-s -w", "./pause"); err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, "go", "run", ".", "build", "--name", pauseImage,
				"--binary", filepath.Join(into, "pause"), "--entrypoint", "/pause", "--user", "65535:65535", "--out", filepath.Join(into, "pause.tar"))
			cmd.Dir = filepath.Join(b.source, "hack/image")
			cmd.Env = append(os.Environ(), "GOWORK=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(out)))
			}
			return nil
		},
	}
}

// copySnapshotCRDs takes the definitions out of the module that publishes them.
func (b *builder) copySnapshotCRDs(ctx context.Context, into string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", moduleSnapshotAPI)
	cmd.Dir = filepath.Join(b.source, binariesModule)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", moduleSnapshotAPI, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("module %s holds no definitions where they are expected", moduleSnapshotAPI)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, filepath.Base(file)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
