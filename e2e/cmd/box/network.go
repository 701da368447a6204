// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// nodeDevice carries the node's address. It is one end of a pair that leads nowhere, because not every kernel has
// dummy devices.
const nodeDevice = "kopiur-node"

// furnishNetwork gives the box a loopback and a node address, and no way out.
func furnishNetwork(c box.Config) error {
	steps := [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", nodeDevice, "type", "veth", "peer", "name", nodeDevice + "p"},
		{"address", "add", c.Address, "dev", nodeDevice},
		{"link", "set", nodeDevice, "up"},
		{"link", "set", nodeDevice + "p", "up"},
	}
	// The kernel wants a route before kube-proxy's rules get to rewrite the destination of a packet.
	for _, route := range c.Routes {
		steps = append(steps, []string{"route", "add", route, "dev", nodeDevice})
	}
	for _, step := range steps {
		var out bytes.Buffer
		cmd := exec.Command("ip", step...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", step, err, out.String())
		}
	}
	// Pods' packets pass through the node. This setting belongs to the network namespace.
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o644)
}
