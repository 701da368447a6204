// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process names a process of the host so that a later one with the same number is not mistaken for it.
type process struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Birth is the kernel's start time of the process, in ticks since the machine started.
	Birth string `json:"birth"`
}

// launch starts a program that outlives this one, with one more variable in its environment.
func launch(name, log, env string, args []string, files []*os.File, attr *syscall.SysProcAttr) (process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return process{}, err
	}
	defer out.Close()
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // it must outlive every context of this process
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = out, out, files, "/"
	cmd.SysProcAttr, cmd.Env = attr, append(os.Environ(), env)
	if err := cmd.Start(); err != nil {
		return process{}, fmt.Errorf("start %s: %w", name, err)
	}
	// Reap it if it ends while this process still runs; afterwards the host's init does.
	go func() { _ = cmd.Wait() }()
	birth, _ := birthOf(cmd.Process.Pid)
	return process{Name: name, PID: cmd.Process.Pid, Birth: birth}, nil
}

// birthOf reads the start time of a live process. A zombie counts as gone: it holds nothing any more.
func birthOf(pid int) (string, bool) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", false
	}
	// The second field is the program's name in brackets and may hold anything, blanks and brackets included.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return "", false
	}
	return fields[start], true
}

func (p process) alive() bool {
	birth, ok := birthOf(p.PID)
	return p.PID > 0 && ok && birth == p.Birth
}

// end kills a process and waits until it is gone. Nothing in a test cluster is worth a gentle stop.
func (p process) end(ctx context.Context) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end %s (pid %d): %w", p.Name, p.PID, err)
	}
	return until(ctx, 20*time.Second, "the end of "+p.Name, func(context.Context) (bool, error) { return !p.alive(), nil })
}

// until polls a condition and gives up after a while. An error of the condition ends the wait at once.
func until(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s (at most %s): %w", what, limit, err)
		}
	}
}

// ComponentError is the failure of one program of a cluster, with the end of what it wrote.
type ComponentError struct {
	Component, Log string
	Err            error
}

func (e *ComponentError) Error() string {
	return fmt.Sprintf("%s: %v\n--- end of %s\n%s", e.Component, e.Err, e.Log, tail(e.Log, 15))
}

func (e *ComponentError) Unwrap() error { return e.Err }

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	const window = 16 << 10
	if info, err := file.Stat(); err == nil && info.Size() > window {
		_, _ = file.Seek(-window, io.SeekEnd)
	}
	raw, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
