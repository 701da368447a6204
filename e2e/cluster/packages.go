// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// packages are the few tools that are not built from source, and a program of each by which it is known.
var packages = []struct{ name, program string }{
	{"runc", "runc"},
	{"containernetworking-plugins", "/usr/lib/cni/bridge"},
	{"conntrack", "conntrack"},
	{"iptables", "iptables"},
	{"nftables", "nft"},
	{"ipset", "ipset"},
	{"kmod", "modprobe"},
	{"iproute2", "ip"},
	{"util-linux", "nsenter"},
}

// missingPackages asks for programs rather than packages, so a machine that has them from elsewhere is fine too.
func missingPackages(has func(program string) bool) []string {
	var missing []string
	for _, p := range packages {
		if !has(p.program) {
			missing = append(missing, p.name)
		}
	}
	return missing
}

func hasProgram(program string) bool {
	if strings.HasPrefix(program, "/") {
		if _, err := os.Stat(strings.Replace(program, "/usr/lib/cni", "/opt/cni/bin", 1)); err == nil {
			return true
		}
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// installPackages installs what is missing.
func installPackages(ctx context.Context, progress io.Writer) error {
	missing := missingPackages(hasProgram)
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("these packages are needed and there is no apt-get to install them: %s", strings.Join(missing, " "))
	}
	fmt.Fprintf(progress, "Installing %s\n", strings.Join(missing, " "))
	install := append([]string{"install", "--yes", "--no-install-recommends"}, missing...)
	if err := aptGet(ctx, install...); err == nil {
		return nil
	}
	// The package lists may be absent or old.
	if err := aptGet(ctx, "update"); err != nil {
		return err
	}
	return aptGet(ctx, install...)
}

func aptGet(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, strings.TrimSpace(out.String()))
	}
	return nil
}
