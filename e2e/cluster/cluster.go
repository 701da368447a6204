// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster brings up a real Kubernetes for tests on a bare Linux machine: either a whole single-node cluster in
// a box of namespaces (Up), or just etcd and an API server on the host (ControlPlane). It builds every program from
// source once and keeps it in the user's cache. docs/testing/cluster.md tells how it works.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// DefaultName is the cluster that commands mean when none is named.
const DefaultName = "dev"

// Options say which cluster is meant and how it is made.
type Options struct {
	// Name tells clusters on one machine apart; DefaultName when empty.
	Name string
	// Source is a folder in a checkout of the project; the working directory when empty.
	Source string
	// Progress receives one line per step; none when nil.
	Progress io.Writer
}

// Cluster is a running cluster, or one that was looked for and is not there.
type Cluster struct {
	layout   layout
	kind     kind
	record   record
	api      *apiClient
	progress io.Writer
}

// kind tells a box from a control plane; it is part of the state folder's name.
type kind string

const (
	kindBox          kind = "cluster"
	kindControlPlane kind = "controlplane"
)

// Up brings up a cluster in a box, or returns the one of that name that runs already. It needs root.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	return up(ctx, o, kindBox)
}

// ControlPlane brings up etcd and an API server on the host's loopback, or returns those of that name that run
// already. It needs no privileges.
func ControlPlane(ctx context.Context, o Options) (*Cluster, error) {
	return up(ctx, o, kindControlPlane)
}

// Find looks for a cluster that an earlier Up or ControlPlane started. Running tells whether it is there.
func Find(o Options, controlPlane bool) (*Cluster, error) {
	k := kindBox
	if controlPlane {
		k = kindControlPlane
	}
	return find(o, k)
}

func find(o Options, k kind) (*Cluster, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	l, err := newLayout(string(k), o.Name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{layout: l, kind: k, progress: o.Progress}
	if c.record, err = l.read(); err != nil {
		return nil, err
	}
	if c.Running() {
		err = c.openAccess()
	}
	return c, err
}

func up(ctx context.Context, o Options, k kind) (*Cluster, error) {
	c, err := find(o, k)
	if err != nil {
		return nil, err
	}
	if k == kindBox && os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	unlock, err := lockFile(ctx, c.layout.lock, func() { c.say("Waiting for another command on this cluster") })
	if err != nil {
		return nil, err
	}
	defer unlock()
	// Whoever held the lock may have brought it up.
	if c, err = find(o, k); err != nil {
		return nil, err
	}
	if c.Running() && c.record.Ready {
		c.say("%s %s runs already", c.kind, c.layout.name)
		return c, nil
	}
	if err := c.end(ctx); err != nil {
		return nil, fmt.Errorf("clear up what is left of an earlier run: %w", err)
	}
	if err := c.start(ctx, o); err != nil {
		// The caller's deadline may have been the reason; clearing up has its own.
		clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, c.end(clearing))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o Options) error {
	if o.Source == "" {
		o.Source = "."
	}
	b, err := newBuilder(ctx, o.Source, c.progress)
	if err != nil {
		return err
	}
	if c.isBox() {
		if err := installPackages(ctx, c.progress); err != nil {
			return err
		}
	}
	if err := c.build(ctx, b); err != nil {
		return err
	}
	begin := time.Now()
	if err := os.RemoveAll(c.layout.logs); err != nil {
		return err
	}
	if err := c.layout.make(); err != nil {
		return err
	}
	c.record.Name, c.record.Started = c.layout.name, begin
	if err := c.layout.write(c.record); err != nil {
		return err
	}
	run := c.startControlPlane
	if c.isBox() {
		run = c.startBox
	}
	if err := run(ctx); err != nil {
		return err
	}
	c.record.Ready = true
	c.say("%s %s is ready after %.1f s", c.kind, c.layout.name, time.Since(begin).Seconds())
	return c.layout.write(c.record)
}

// build makes sure that the cache holds every program that this kind of cluster runs.
func (c *Cluster) build(ctx context.Context, b *builder) error {
	versions, err := b.versions()
	if err != nil {
		return err
	}
	c.record.Versions = map[string]string{}
	for _, module := range []string{moduleKubernetes, moduleEtcd, moduleContainerd, moduleCoreDNS, moduleSnapshotter, moduleProvisioner} {
		c.record.Versions[module] = versions[module]
	}
	kubernetes, err := b.kubernetes()
	if err != nil {
		return err
	}
	node, err := b.node()
	if err != nil {
		return err
	}
	type want struct {
		artifact artifact
		path     *string
	}
	wants := []want{{kubernetes, &c.record.Paths.Kubernetes}}
	if c.isBox() {
		wants = append(wants, want{b.box(), &c.record.Paths.Box}, want{b.images(), &c.record.Paths.Images},
			want{b.driver(), &c.record.Paths.Driver}, want{node, &c.record.Paths.Node})
	}
	for _, w := range wants {
		if *w.path, err = b.ensure(ctx, w.artifact); err != nil {
			return err
		}
	}
	return nil
}

// prepareAccess makes the PKI and the kubeconfigs. hostServer is how the host reaches the API server, boxServer how
// the programs in the box do.
func (c *Cluster) prepareAccess(node, hostServer, boxServer string, serverIPs []string) error {
	ids, err := makePKI(c.layout.pki(""), node, serverIPs)
	if err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if boxServer != "" {
		for user, pair := range ids.users {
			if err := writeKubeconfig(c.layout.conf(user+".kubeconfig"), c.context(), boxServer, ids.ca, pair); err != nil {
				return err
			}
		}
	}
	c.record.Server = hostServer
	if err := writeKubeconfig(c.layout.kubeconfig(), c.context(), hostServer, ids.ca, ids.users["admin"]); err != nil {
		return err
	}
	return c.openAccess()
}

// openAccess makes the client from what prepareAccess wrote.
func (c *Cluster) openAccess() error {
	var parts [3][]byte
	for i, name := range []string{"ca.crt", "admin.crt", "admin.key"} {
		raw, err := os.ReadFile(c.layout.pki(name))
		if err != nil {
			return fmt.Errorf("read the cluster's certificates: %w", err)
		}
		parts[i] = raw
	}
	if c.api != nil {
		c.api.close()
	}
	var err error
	c.api, err = newAPIClient(c.record.Server, parts[0], keyPair{cert: parts[1], key: parts[2]})
	return err
}

// Kubeconfig is the path of an administrator's kubeconfig that works on the host.
func (c *Cluster) Kubeconfig() string { return c.layout.kubeconfig() }

// AuditLog is the path of the API server's audit log: one JSON object per answered request.
func (c *Cluster) AuditLog() string { return c.layout.audit() }

// PKI is the folder of the cluster's certificates. kubelet-serving.crt and .key are what a stub kubelet on 127.0.0.1
// has to show to the API server of a control plane.
func (c *Cluster) PKI() string { return c.layout.pki("") }

// Assets is a folder with programs named etcd, kube-apiserver and kubectl, as KUBEBUILDER_ASSETS wants it.
func (c *Cluster) Assets() string { return c.record.Paths.Kubernetes }

// SnapshotCRDs is a folder with the definitions of the snapshot and group snapshot kinds. A box has them installed, a
// control plane has not.
func (c *Cluster) SnapshotCRDs() string {
	return filepath.Join(c.record.Paths.Kubernetes, "snapshot-crds")
}

// Running tells whether the processes of the cluster live.
func (c *Cluster) Running() bool { return c.record.running() }

func (c *Cluster) isBox() bool     { return c.kind == kindBox }
func (c *Cluster) node() string    { return "kopiur-" + c.layout.name }
func (c *Cluster) context() string { return "kopiur-" + c.layout.name }

func (c *Cluster) say(format string, args ...any) {
	fmt.Fprintf(c.progress, format+"\n", args...)
}

// blame adds a program's name and the end of its log to an error, unless that has been done.
func (c *Cluster) blame(component string, err error) error {
	var known *ComponentError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &ComponentError{Component: component, Log: c.layout.log(component), Err: err}
}
