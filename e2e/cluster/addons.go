// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startAddons starts DNS and storage as programs of the box, and applies their objects.
func (c *Cluster) startAddons(ctx context.Context) error {
	if err := c.run(ctx, "coredns", filepath.Join(c.record.Paths.Node, "coredns"), "-conf", filepath.Join(boxRoot, "conf", "Corefile")); err != nil {
		return err
	}
	for _, driver := range []struct {
		name, suffix string
		snapshots    bool
	}{{snapshotDriver, "", true}, {plainDriver, "-nosnap", false}} {
		if err := c.startDriver(ctx, driver.name, driver.suffix, driver.snapshots); err != nil {
			return err
		}
	}
	if err := c.apply(ctx, c.SnapshotCRDs(), c.layout.state+"/manifests/10-dns.yaml", c.layout.state+"/manifests/20-storage.yaml"); err != nil {
		return err
	}
	for _, kind := range []string{"snapshot.storage.k8s.io/v1/volumesnapshotclasses", "groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotclasses"} {
		if err := c.await(ctx, "kube-apiserver", "the snapshot kinds", 20*time.Second, func(ctx context.Context) (bool, error) {
			return c.api.get(ctx, "/apis/"+kind, nil)
		}); err != nil {
			return err
		}
	}
	// The controller's own wait for its kinds is long, so it starts when they are there. Without those of groups it and the
	// snapshotter below would go on, but make no group.
	if err := c.run(ctx, "snapshot-controller", filepath.Join(c.record.Paths.Node, "snapshot-controller"),
		"--kubeconfig", c.adminInBox(), "--retry-interval-start=200ms", "--retry-interval-max=2s"); err != nil {
		return err
	}
	if err := c.startSnapshotter(ctx); err != nil {
		return err
	}
	return c.apply(ctx, c.layout.state+"/manifests/30-snapshots.yaml")
}

func (c *Cluster) adminInBox() string { return filepath.Join(boxRoot, "conf", "admin.kubeconfig") }

func driverSocket(driver string) string {
	return filepath.Join(boxRoot, "kubelet", "plugins", driver, "csi.sock")
}

// StorageRoot is the host's folder in which a CSI driver keeps its volumes, snapshots and fault switches. snapshots
// chooses between the driver that has snapshots and the one that has none.
func (c *Cluster) StorageRoot(snapshots bool) string {
	name := plainDriver
	if snapshots {
		name = snapshotDriver
	}
	return filepath.Join(c.layout.state, "csi", name)
}

func (c *Cluster) startDriver(ctx context.Context, name, suffix string, snapshots bool) error {
	root := c.StorageRoot(snapshots)
	if err := os.MkdirAll(filepath.Join(root, "faults"), 0o755); err != nil {
		return err
	}
	err := c.run(ctx, "csi-hostpath"+suffix, filepath.Join(c.record.Paths.Driver, "csi-hostpath"),
		"-name", name, "-node", c.node(), "-root", c.layout.inBox(root), fmt.Sprintf("-snapshots=%t", snapshots),
		"-socket", driverSocket(name), "-registry", filepath.Join(boxRoot, "kubelet", "plugins_registry"))
	if err != nil {
		return err
	}
	return c.run(ctx, "csi-provisioner"+suffix, filepath.Join(c.record.Paths.Node, "csi-provisioner"),
		"--kubeconfig", c.adminInBox(), "--csi-address", driverSocket(name),
		// A driver without topology needs it switched off, or WaitForFirstConsumer waits for CSINode keys.
		"--feature-gates=Topology=false", "--retry-interval-start=200ms", "--retry-interval-max=5s",
		"--kube-api-qps=100", "--kube-api-burst=200")
}

func (c *Cluster) startSnapshotter(ctx context.Context) error {
	return c.run(ctx, "csi-snapshotter", filepath.Join(c.record.Paths.Node, "csi-snapshotter"),
		"--kubeconfig", c.adminInBox(), "--csi-address", driverSocket(snapshotDriver),
		"--retry-interval-start=200ms", "--retry-interval-max=2s", "--kube-api-qps=100", "--kube-api-burst=200")
}

// apply applies files and folders with kubectl, from the host.
func (c *Cluster) apply(ctx context.Context, paths ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	args := []string{"--kubeconfig", c.Kubeconfig(), "apply", "--server-side", "--force-conflicts", "--field-manager=kopiur-harness"}
	for _, path := range paths {
		args = append(args, "--filename", path)
	}
	cmd := exec.CommandContext(ctx, c.program("kubectl"), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return c.blame("kube-apiserver", fmt.Errorf("apply %s: %w: %s", strings.Join(paths, " "), err, strings.TrimSpace(out.String())))
	}
	return nil
}

// settle waits until a pod with a volume would run: node, drivers, names and the default ServiceAccount.
func (c *Cluster) settle(ctx context.Context) error {
	for _, wait := range []struct {
		component, what string
		done            func(context.Context) (bool, error)
	}{
		{"kubelet", "a node that is ready", c.nodeReady},
		{"csi-hostpath", "the CSI drivers' registration", c.driversRegistered},
		{"kube-controller-manager", "the default ServiceAccount", func(ctx context.Context) (bool, error) {
			return c.api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		}},
		{"coredns", "DNS", func(ctx context.Context) (bool, error) {
			return c.api.get(ctx, "/api/v1/nodes/http:"+c.node()+":8181/proxy/ready", nil)
		}},
	} {
		if err := c.await(ctx, wait.component, wait.what, time.Minute, wait.done); err != nil {
			return err
		}
	}
	// Whatever ended in the meantime would be missed by the first test that needs it.
	return c.allRunning(ctx)
}

func (c *Cluster) nodeReady(ctx context.Context) (bool, error) {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	ok, err := c.api.get(ctx, "/api/v1/nodes/"+c.node(), &node)
	if !ok || err != nil {
		return false, err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return true, nil
		}
	}
	return false, nil
}

func (c *Cluster) driversRegistered(ctx context.Context) (bool, error) {
	var node struct {
		Spec struct {
			Drivers []struct{ Name string }
		}
	}
	ok, err := c.api.get(ctx, "/apis/storage.k8s.io/v1/csinodes/"+c.node(), &node)
	return ok && len(node.Spec.Drivers) == 2, err
}
