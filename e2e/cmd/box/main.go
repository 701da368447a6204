// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command box is pid 1 of a test cluster's box: it furnishes the fresh namespaces it was started in, starts and reaps
// the cluster's programs, and forwards connections from the host to the API server. The harness starts it; nothing
// else should.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

func main() {
	ready := os.NewFile(box.ReadyFD, "ready")
	if err := run(ready); err != nil {
		fmt.Fprintln(ready, err)
		fmt.Fprintln(os.Stderr, "box:", err)
		os.Exit(1)
	}
}

func run(ready *os.File) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("this is pid 1 of a box; use the cluster command")
	}
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: box CONFIG.json")
	}
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var config box.Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return fmt.Errorf("read %s: %w", os.Args[1], err)
	}
	relay, err := inherited(box.RelayFD)
	if err != nil {
		return err
	}
	control, err := inherited(box.ControlFD)
	if err != nil {
		return err
	}
	// Children must hold none of these, or the box's end would not be seen by who waits for it.
	syscall.CloseOnExec(box.ReadyFD)

	if err := syscall.Sethostname([]byte(config.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := furnishMounts(config); err != nil {
		return err
	}
	if err := furnishNetwork(config); err != nil {
		return err
	}

	processes := newSupervisor()
	go processes.reap()
	go processes.serve(control)
	go forward(relay, config.RelayTo)

	fmt.Fprintln(ready, box.ReadyWord)
	if err := ready.Close(); err != nil {
		return err
	}
	// Pid 1 has no default signal actions: without this a polite request to end would be ignored.
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	return nil
}

// inherited makes a listener of a file descriptor that the parent opened.
func inherited(fd uintptr) (net.Listener, error) {
	file := os.NewFile(fd, "listener")
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("take over file descriptor %d: %w", fd, err)
	}
	return listener, file.Close()
}
