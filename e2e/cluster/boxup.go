// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// machineSysctls are settings of the whole machine that the kubelet wants to have these values.
var machineSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// openBox starts pid 1 of a new box and waits until it has furnished it.
func (c *Cluster) openBox(ctx context.Context) error {
	relay, server, err := listenRelay(ctx)
	if err != nil {
		return err
	}
	defer relay.Close()
	control, err := listenControl(ctx, c.layout.socket())
	if err != nil {
		return err
	}
	defer control.Close()
	readyIn, readyOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer readyIn.Close()

	if err := c.prepareAccess(c.node(), server, "https://"+net.JoinHostPort(nodeIP, apiPort), []string{"127.0.0.1", nodeIP, apiServiceIP}); err != nil {
		return err
	}
	config := c.layout.conf("box.json")
	raw, err := json.MarshalIndent(box.Config{
		Hostname: c.node(), Address: nodeIP + "/" + nodePrefix, Routes: []string{serviceCIDR},
		StateDir: c.layout.state, MountPoint: boxRoot, Scratch: []string{"/var"},
		Sysctls: machineSysctls, RelayTo: net.JoinHostPort(nodeIP, apiPort),
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, raw, 0o600); err != nil {
		return err
	}

	p, err := launch("box", c.layout.log("box"), c.mark(), []string{filepath.Join(c.record.Paths.Box, "box"), config},
		[]*os.File{relay, control, readyOut}, &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		})
	// Only the child may hold the writing end, or its death would not end the wait.
	_ = readyOut.Close()
	if err != nil {
		return err
	}
	c.record.Processes = []process{p}
	if err := c.layout.write(c.record); err != nil {
		return err
	}
	_ = readyIn.SetReadDeadline(time.Now().Add(20 * time.Second))
	word, err := bufio.NewReader(readyIn).ReadString('\n')
	if word = strings.TrimSpace(word); word != box.ReadyWord {
		return c.blame("box", fmt.Errorf("the box did not come up: %s (%w)", word, err))
	}
	return nil
}

// listenRelay opens the host's side of the way to the API server.
func listenRelay(ctx context.Context) (*os.File, string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listen for the API server: %w", err)
	}
	defer listener.Close()
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, "", fmt.Errorf("listen for the API server: got a %T", listener)
	}
	file, err := tcp.File()
	return file, "https://" + listener.Addr().String(), err
}

func listenControl(ctx context.Context, path string) (*os.File, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the box's socket (is the path too long?): %w", err)
	}
	defer listener.Close()
	unix, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("listen on the box's socket: got a %T", listener)
	}
	unix.SetUnlinkOnClose(false)
	return unix.File()
}

// boxPath is where programs in the box look for others.
func (c *Cluster) boxPath() string {
	p := c.record.Paths
	return strings.Join([]string{p.Kubernetes, p.Node, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}, ":")
}

// boxEnv is added to the environment of every program in the box.
func (c *Cluster) boxEnv() []string {
	return []string{c.mark(), "PATH=" + c.boxPath(), "KUBECONFIG=" + c.layout.inBox(c.layout.conf("admin.kubeconfig"))}
}

// run starts a program of the box.
func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	_, err := box.Ask(ctx, c.layout.socket(), box.Request{Start: &box.Start{
		Name: name, Args: args, Env: c.boxEnv(), Log: c.layout.inBox(c.layout.log(name)),
	}})
	return c.blame(name, err)
}

// await waits for a condition and meanwhile notices if the program that should bring it about has ended.
func (c *Cluster) await(ctx context.Context, component, what string, limit time.Duration, done func(context.Context) (bool, error)) error {
	next := time.Now()
	err := until(ctx, limit, what, func(ctx context.Context) (bool, error) {
		if now := time.Now(); now.After(next) {
			next = now.Add(time.Second)
			processes, err := box.Ask(ctx, c.layout.socket(), box.Request{})
			if err != nil {
				return false, err
			}
			for _, p := range processes {
				if p.Name == component && !p.Running {
					return false, fmt.Errorf("ended with %s", p.Exit)
				}
			}
		}
		return done(ctx)
	})
	return c.blame(component, err)
}

// Command makes a command that runs with kubectl and KUBECONFIG set up, in the given folder: inside the box if there
// is one, on the host otherwise.
func (c *Cluster) Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	if !c.isBox() {
		cmd := exec.CommandContext(ctx, "env", append([]string{"PATH=" + c.Assets() + ":" + os.Getenv("PATH"), "KUBECONFIG=" + c.Kubeconfig()}, args...)...)
		cmd.Dir = dir
		return cmd
	}
	// nsenter rather than "ip netns exec": that one would mount another /sys and hide the cgroups. env -C because
	// entering a mount namespace loses the working folder.
	enter := []string{"-t", strconv.Itoa(c.record.Processes[0].PID), "-n", "-m", "-p", "-i", "-u", "--", "env", "-C", dir}
	enter = append(append(enter, c.boxEnv()...), args...)
	return exec.CommandContext(ctx, "nsenter", enter...)
}

// Start leaves a program running in the box, as test servers need it. Its output goes to <name>.log beside the
// components' logs, and it ends with the box or by Stop.
func (c *Cluster) Start(ctx context.Context, name string, args ...string) error {
	if !c.isBox() {
		return errors.New("this cluster has no box to run programs in")
	}
	return c.run(ctx, name, args...)
}

// Stop asks a program that Start left running to end.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	_, err := box.Ask(ctx, c.layout.socket(), box.Request{Stop: name})
	return err
}
