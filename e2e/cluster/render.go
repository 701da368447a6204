// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed assets
var assets embed.FS

// Names of the CSI drivers: the one with snapshots, and the one without.
const (
	snapshotDriver = "hostpath.kopiur.test"
	plainDriver    = "nosnap.kopiur.test"
)

// view is what templates know. Root is the state folder as the reader of the rendered file sees it.
type view struct {
	Root, Node string
	Cgroup     string
	CgroupV1   bool
	Runc       string
}

// Constants that templates use.
func (view) NodeIP() string         { return nodeIP }
func (view) DNSServiceIP() string   { return dnsServiceIP }
func (view) PodCIDR() string        { return podCIDR }
func (view) NodePodCIDR() string    { return nodePodCIDR }
func (view) PauseImage() string     { return pauseImage }
func (view) SnapshotDriver() string { return snapshotDriver }
func (view) PlainDriver() string    { return plainDriver }
func (view) Drivers() []string      { return []string{snapshotDriver, plainDriver} }

// renderAsset fills one template, named by its path below assets.
func renderAsset(name string, v view) ([]byte, error) {
	raw, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(name).Option("missingkey=error").Parse(string(raw))
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("render template: %w", err)
	}
	return out.Bytes(), nil
}

// render writes assets to the same paths below the state folder.
func render(l layout, v view, names ...string) error {
	for _, name := range names {
		content, err := renderAsset(name, v)
		if err != nil {
			return err
		}
		target := filepath.Join(l.state, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// assetNames lists the assets below a folder, in order.
func assetNames(folder string) ([]string, error) {
	var names []string
	err := fs.WalkDir(assets, path.Join("assets", folder), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimPrefix(name, "assets/"))
		}
		return err
	})
	return names, err
}
