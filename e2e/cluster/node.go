// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startBox brings up everything in the box. What does not depend on each other starts at the same time.
func (c *Cluster) startBox(ctx context.Context) error {
	groups, err := detectCgroups(cgroupMount)
	if err != nil {
		return err
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	names, err := assetNames("")
	if err != nil {
		return err
	}
	v := view{Root: boxRoot, Node: c.node(), Cgroup: c.layout.cgroup(), CgroupV1: groups.v1, Runc: runc}
	if err := render(c.layout, v, names...); err != nil {
		return err
	}
	if err := c.makeHostPath(); err != nil {
		return err
	}
	if err := groups.create(c.layout.cgroup()); err != nil {
		return err
	}
	if err := c.openBox(ctx); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runtime := make(chan error, 1)
	go func() { runtime <- c.startRuntime(ctx) }()
	err = c.startAPI(ctx)
	if err != nil {
		cancel()
		return errors.Join(err, <-runtime)
	}
	if err := <-runtime; err != nil {
		return err
	}
	if err := c.startNode(ctx); err != nil {
		return err
	}
	if err := c.startAddons(ctx); err != nil {
		return err
	}
	return c.settle(ctx)
}

// HostPath is a folder for hostPath volumes: where pods name it, and where the host sees it. Other folders of the box
// are the machine's own, and what is written there would stay.
func (c *Cluster) HostPath() (inPods, onHost string) {
	onHost = filepath.Join(c.layout.state, "hostpath")
	return c.layout.inBox(onHost), onHost
}

func (c *Cluster) makeHostPath() error {
	_, folder := c.HostPath()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	// Past the umask: pods of any user may be given a folder below.
	return os.Chmod(folder, 0o777)
}

func (c *Cluster) program(name string) string {
	return filepath.Join(c.record.Paths.Kubernetes, name)
}

func (c *Cluster) startAPI(ctx context.Context) error {
	e := endpoints{
		root: boxRoot, bind: "0.0.0.0", advertise: nodeIP, port: apiPort, serviceCIDR: serviceCIDR,
		etcdClient: "http://127.0.0.1:2379", etcdPeer: "http://127.0.0.1:2380",
	}
	if err := c.run(ctx, "etcd", append([]string{c.program("etcd")}, e.etcdArgs()...)...); err != nil {
		return err
	}
	if err := c.run(ctx, "kube-apiserver", append([]string{c.program("kube-apiserver")}, e.apiServerArgs()...)...); err != nil {
		return err
	}
	if err := c.await(ctx, "kube-apiserver", "an API server that is ready", time.Minute, c.api.ready); err != nil {
		return err
	}
	c.say("The API server is ready")
	// These two give up with "forbidden" when they meet an API server that has not made its own roles yet.
	pki := func(name string) string { return filepath.Join(boxRoot, "pki", name) }
	controllers := filepath.Join(boxRoot, "conf", "controllers.kubeconfig")
	err := c.run(ctx, "kube-controller-manager", c.program("kube-controller-manager"),
		"--kubeconfig="+controllers, "--authentication-kubeconfig="+controllers, "--authorization-kubeconfig="+controllers,
		"--service-account-private-key-file="+pki("service-accounts.key"), "--root-ca-file="+pki("ca.crt"),
		"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
		"--use-service-account-credentials", "--leader-elect=false", "--kube-api-qps=300", "--kube-api-burst=500",
		"--allocate-node-cidrs", "--cluster-cidr="+podCIDR, "--service-cluster-ip-range="+serviceCIDR,
		// Tests wait for these: a volume that waits for its binding, a node that is lost.
		"--pvclaimbinder-sync-period=3s", "--node-monitor-period=2s", "--node-monitor-grace-period=20s",
		"--endpointslice-updates-batch-period=100ms", "--mirroring-endpointslice-updates-batch-period=100ms")
	if err != nil {
		return err
	}
	scheduler := filepath.Join(boxRoot, "conf", "scheduler.kubeconfig")
	return c.run(ctx, "kube-scheduler", c.program("kube-scheduler"),
		"--kubeconfig="+scheduler, "--authentication-kubeconfig="+scheduler, "--authorization-kubeconfig="+scheduler,
		"--leader-elect=false", "--kube-api-qps=300", "--kube-api-burst=500")
}

// startRuntime starts containerd and gives it the sandbox image.
func (c *Cluster) startRuntime(ctx context.Context) error {
	if err := c.run(ctx, "containerd", filepath.Join(c.record.Paths.Node, "containerd"),
		"--config", filepath.Join(boxRoot, "conf", "containerd.toml")); err != nil {
		return err
	}
	// The host can reach a socket of the box through the state folder.
	socket := filepath.Join(c.layout.state, "containerd", "containerd.sock")
	err := c.await(ctx, "containerd", "containerd's socket", 30*time.Second, func(ctx context.Context) (bool, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
	if err != nil {
		return err
	}
	return c.LoadImage(ctx, filepath.Join(c.record.Paths.Images, "pause.tar"))
}

// LoadImage imports image archives (docker save or OCI layout, as tar) into the node. Pods use them with the pull
// policies Never and IfNotPresent.
func (c *Cluster) LoadImage(ctx context.Context, files ...string) error {
	if !c.isBox() {
		return errors.New("this cluster has no node to hold images")
	}
	for _, file := range files {
		archive, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("load image: %w", err)
		}
		err = c.importImage(ctx, archive)
		_ = archive.Close()
		if err != nil {
			return c.blame("containerd", fmt.Errorf("load image %s: %w", file, err))
		}
	}
	return nil
}

// importImage hands the archive over on standard input: the box may not see the file at the host's path.
func (c *Cluster) importImage(ctx context.Context, archive io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := c.Command(ctx, "/", filepath.Join(c.record.Paths.Node, "ctr"), "--address", filepath.Join(boxRoot, "containerd", "containerd.sock"),
		"--namespace", "k8s.io", "images", "import", "-")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = archive, &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}

// startNode starts what makes a machine a node.
func (c *Cluster) startNode(ctx context.Context) error {
	err := c.run(ctx, "kubelet", c.program("kubelet"),
		"--config", filepath.Join(boxRoot, "conf", "kubelet.yaml"), "--kubeconfig", filepath.Join(boxRoot, "conf", "kubelet.kubeconfig"),
		"--root-dir", filepath.Join(boxRoot, "kubelet"), "--hostname-override", c.node(), "--node-ip", nodeIP)
	if err != nil {
		return err
	}
	return c.run(ctx, "kube-proxy", c.program("kube-proxy"), "--config", filepath.Join(boxRoot, "conf", "kube-proxy.yaml"))
}
