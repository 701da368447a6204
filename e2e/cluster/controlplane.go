// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// endpoints are the addresses of etcd and the API server. root is the state folder as these two see it.
type endpoints struct {
	root                  string
	etcdClient, etcdPeer  string
	bind, advertise, port string
	serviceCIDR           string
}

func (e endpoints) etcdArgs() []string {
	return []string{
		"--data-dir", filepath.Join(e.root, "etcd"),
		"--listen-client-urls", e.etcdClient, "--advertise-client-urls", e.etcdClient,
		"--listen-peer-urls", e.etcdPeer, "--initial-advertise-peer-urls", e.etcdPeer, "--initial-cluster", "default=" + e.etcdPeer,
		"--unsafe-no-fsync", // nothing here survives the machine anyway
		"--log-level", "warn",
	}
}

func (e endpoints) apiServerArgs() []string {
	pki := func(name string) string { return filepath.Join(e.root, "pki", name) }
	args := []string{
		"--etcd-servers=" + e.etcdClient,
		"--bind-address=" + e.bind, "--advertise-address=" + e.advertise, "--secure-port=" + e.port,
		"--service-cluster-ip-range=" + e.serviceCIDR,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--client-ca-file=" + pki("ca.crt"), "--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--kubelet-certificate-authority=" + pki("ca.crt"),
		"--kubelet-client-certificate=" + pki("apiserver-nodes.crt"), "--kubelet-client-key=" + pki("apiserver-nodes.key"),
		// Node names resolve nowhere; logs and exec go to the address.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("service-accounts.pub"), "--service-account-signing-key-file=" + pki("service-accounts.key"),
		"--requestheader-client-ca-file=" + pki("front-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-client.crt"), "--proxy-client-key-file=" + pki("front-client.key"),
		"--audit-policy-file=" + filepath.Join(e.root, "conf", "audit-policy.yaml"),
		"--audit-log-path=" + filepath.Join(e.root, "logs", "audit.log"),
		// Never rotated: a test that counts requests reads one file.
		"--audit-log-maxsize=10240",
		// Short-lived clusters end without a drain.
		"--shutdown-delay-duration=0s",
	}
	if ip := net.ParseIP(e.advertise); ip != nil && ip.IsLoopback() {
		// An Endpoints object may not hold a loopback address, and nothing here would use it.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	return args
}

// controlPlaneNode is the name on the serving certificate that a test's stub kubelet can use.
const controlPlaneNode = "stub-node"

// startControlPlane starts etcd and an API server on the host's loopback. It tries again when another process took
// one of the ports in between.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	const attempts = 3
	var err error
	for range attempts {
		if err = c.tryControlPlane(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		if ended := c.end(ctx); ended != nil {
			return ended
		}
		c.say("Starting once more: %v", err)
	}
	return err
}

func (c *Cluster) tryControlPlane(ctx context.Context) error {
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return err
	}
	const host = "127.0.0.1"
	e := endpoints{
		root: c.layout.state, bind: host, advertise: host, port: ports[2], serviceCIDR: "10.0.0.0/24",
		etcdClient: "http://" + net.JoinHostPort(host, ports[0]), etcdPeer: "http://" + net.JoinHostPort(host, ports[1]),
	}
	if err := os.RemoveAll(filepath.Join(c.layout.state, "etcd")); err != nil {
		return err
	}
	if err := c.prepareAccess(controlPlaneNode, "https://"+net.JoinHostPort(host, e.port), "", []string{host}); err != nil {
		return err
	}
	if err := render(c.layout, view{Root: e.root}, "conf/audit-policy.yaml"); err != nil {
		return err
	}
	for _, program := range []struct {
		name string
		args []string
	}{{"etcd", e.etcdArgs()}, {"kube-apiserver", e.apiServerArgs()}} {
		args := append([]string{filepath.Join(c.record.Paths.Kubernetes, program.name)}, program.args...)
		p, err := launch(program.name, c.layout.log(program.name), c.mark(), args, nil, &syscall.SysProcAttr{Setsid: true})
		if err != nil {
			return err
		}
		c.record.Processes = append(c.record.Processes, p)
		if err := c.layout.write(c.record); err != nil {
			return err
		}
	}
	err = until(ctx, time.Minute, "an API server that is ready", func(ctx context.Context) (bool, error) {
		for _, p := range c.record.Processes {
			if !p.alive() {
				return false, &ComponentError{Component: p.Name, Log: c.layout.log(p.Name), Err: fmt.Errorf("ended early")}
			}
		}
		return c.api.ready(ctx)
	})
	return c.blame("kube-apiserver", err)
}

// freePorts finds ports that nobody listens on. They are free only for the moment.
func freePorts(ctx context.Context, count int) ([]string, error) {
	var ports []string
	for range count {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() //nolint:gocritic // held until all are found, or the same one would come again
		if address, ok := listener.Addr().(*net.TCPAddr); ok {
			ports = append(ports, strconv.Itoa(address.Port))
		}
	}
	return ports, nil
}
