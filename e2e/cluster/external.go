// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRoot means that a box cannot be made here, and that no other cluster was offered.
var ErrNotRoot = errors.New("a cluster in a box needs root (namespaces, mounts, cgroups): run as root, or point KUBECONFIG at a cluster; " +
	"without either, everything that needs a kubelet is left out and API tests still run on --control-plane-only")

// External returns the kubeconfig of a cluster that the user brought along in KUBECONFIG, if there is one. A kubeconfig
// of ours does not count.
func External() (path string, found bool) {
	path = os.Getenv("KUBECONFIG")
	if path == "" {
		return "", false
	}
	home, err := xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return path, true
	}
	first, _, _ := strings.Cut(path, string(os.PathListSeparator))
	if absolute, err := filepath.Abs(first); err == nil && strings.HasPrefix(absolute, home+string(os.PathSeparator)) {
		return "", false
	}
	return path, true
}
