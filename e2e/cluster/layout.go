// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Addresses inside a box. Every box has a network of its own, so all boxes use the same ones.
const (
	nodeIP       = "10.123.0.1"
	nodePrefix   = "24"
	serviceCIDR  = "10.96.0.0/16"
	apiServiceIP = "10.96.0.1"
	dnsServiceIP = "10.96.0.10"
	podCIDR      = "10.244.0.0/16"
	nodePodCIDR  = "10.244.0.0/24"
	apiPort      = "6443"
)

// boxRoot is where the box sees the state folder.
const boxRoot = "/run/kopiur"

// layout says where one cluster keeps its things on the host.
type layout struct {
	name string
	// state holds everything; only the logs in it outlive the cluster, until the next one of the same name starts.
	state, logs string
	// lock serializes up and down.
	lock string
}

var validName = regexp.MustCompile("^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$")

func newLayout(kind, name string) (layout, error) {
	if !validName.MatchString(name) {
		return layout{}, fmt.Errorf("cluster name %q: want at most 20 lower-case letters, digits and inner dashes", name)
	}
	home, err := xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return layout{}, err
	}
	base := filepath.Join(home, kind+"-"+name)
	return layout{name: name, state: base, logs: filepath.Join(base, "logs"), lock: base + ".lock"}, nil
}

// xdg is the project's folder under one of the user's base folders.
func xdg(variable, fallback string) (string, error) {
	// The specification says to ignore relative values.
	if base := os.Getenv(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "kopiur"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for $%s: %w", variable, err)
	}
	return filepath.Join(home, fallback, "kopiur"), nil
}

func (l layout) pki(name string) string  { return filepath.Join(l.state, "pki", name) }
func (l layout) conf(name string) string { return filepath.Join(l.state, "conf", name) }
func (l layout) log(name string) string  { return filepath.Join(l.logs, name+".log") }
func (l layout) audit() string           { return filepath.Join(l.logs, "audit.log") }
func (l layout) record() string          { return filepath.Join(l.state, "state.json") }
func (l layout) socket() string          { return filepath.Join(l.state, "box.sock") }
func (l layout) kubeconfig() string      { return l.conf("host.kubeconfig") }

// cgroup is the name of the folder that is the root of all pods' cgroups.
func (l layout) cgroup() string { return "kopiur-" + l.name }

// inBox turns a path of the state folder into the one that the box knows it by; other paths are the same on both
// sides.
func (l layout) inBox(path string) string {
	if rest, inside := strings.CutPrefix(path, l.state+"/"); inside {
		return filepath.Join(boxRoot, rest)
	}
	return path
}

// make creates the folders, private to the user: they hold keys.
func (l layout) make() error {
	for _, folder := range []string{l.state, filepath.Join(l.state, "pki"), filepath.Join(l.state, "conf"), l.logs} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("make the state folder: %w", err)
		}
	}
	return nil
}
