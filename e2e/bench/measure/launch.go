// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure runs programs and says what they cost.
//
// A program is started by a small process of its own (the launcher, this program again): what the kernel counts as the
// peak memory of a child begins with that of its parent, and the parent here has read whole data sets.
package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command is one program to run.
type Command struct {
	Path string
	Args []string
	// Env is the whole environment but PATH and TMPDIR.
	Env []string
	Dir string
	// Output takes the standard output, for Check to read; a file of its own by default.
	Output string
	// Check runs after the time has been taken, with what went to standard output. A run that did nothing is an error.
	Check func(output []byte) error
}

// String names the command: the program and what it was told to do, without its paths.
func (c Command) String() string {
	words := []string{filepath.Base(c.Path)}
	for _, a := range c.Args {
		if !strings.HasPrefix(a, "-") && !strings.ContainsAny(a, "/ ") {
			words = append(words, a)
		}
	}
	return strings.Join(words[:min(len(words), 4)], " ")
}

// Sample is what one run cost.
type Sample struct {
	Wall   time.Duration `json:"wall"`
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// PeakRSS is in bytes, of the largest process where there were several.
	PeakRSS int64 `json:"peakRSS"`
	// Killed is the signal that ended the program, Exit its exit code.
	Killed string `json:"killed,omitempty"`
	Exit   int    `json:"exit,omitempty"`
}

// CPU is user and system time.
func (s Sample) CPU() time.Duration { return s.User + s.System }

// LaunchVerb is the first argument that makes this program the launcher.
const LaunchVerb = "launch"

// launch is what the launcher is told, as its second argument.
type launch struct {
	Result  string   `json:"result"`
	Cgroups []string `json:"cgroups,omitempty"`
	Path    string   `json:"path"`
	Args    []string `json:"args"`
}

// Launch is the launcher: it runs one program as its only child and writes what it cost to a file.
func Launch(text string) error {
	var l launch
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return fmt.Errorf("read what to launch: %w", err)
	}
	for _, dir := range l.Cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
			return fmt.Errorf("enter the cgroup: %w", err)
		}
	}
	cmd := exec.Command(l.Path, l.Args...) //nolint:noctx // ended with our process group
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start := time.Now()
	err := cmd.Run()
	s := Sample{Wall: time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run %s: %w", l.Path, err)
	}
	state := cmd.ProcessState
	s.User, s.System, s.Exit = state.UserTime(), state.SystemTime(), state.ExitCode()
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		s.PeakRSS = ru.Maxrss << 10
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		s.Killed = ws.Signal().String()
	}
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	if err := os.WriteFile(l.Result, b, 0o600); err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	return nil
}

// Runner runs commands one after another.
type Runner struct {
	// Self is this program, Scratch a folder for what a run writes beside its work.
	Self, Scratch string
	// Cgroups are what the program is put into.
	Cgroups []string
	// MayFail returns a sample of a program that failed as well, for limits that are meant to be hit.
	MayFail bool
}

// Run runs a command and checks it. It fails with the end of what the program said.
func (r Runner) Run(ctx context.Context, c Command) (Sample, error) {
	scratch, err := os.MkdirTemp(r.Scratch, "run-")
	if err != nil {
		return Sample{}, fmt.Errorf("make a folder for a run: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	result := filepath.Join(scratch, "sample.json")
	told, err := json.Marshal(launch{Result: result, Cgroups: r.Cgroups, Path: c.Path, Args: c.Args})
	if err != nil {
		return Sample{}, fmt.Errorf("prepare a run: %w", err)
	}
	output := c.Output
	if output == "" {
		output = filepath.Join(scratch, "stdout")
	}
	out, err := os.Create(output)
	if err != nil {
		return Sample{}, fmt.Errorf("prepare a run: %w", err)
	}
	defer out.Close()
	errs, err := os.Create(filepath.Join(scratch, "stderr"))
	if err != nil {
		return Sample{}, fmt.Errorf("prepare a run: %w", err)
	}
	defer errs.Close()
	cmd := exec.CommandContext(ctx, r.Self, LaunchVerb, string(told))
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + scratch}, c.Env...)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return Sample{}, fmt.Errorf("%s: %w\n%s", c, err, tail(errs.Name(), out.Name()))
	}
	var s Sample
	text, err := os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return Sample{}, fmt.Errorf("%s: read the sample: %w", c, err)
	}
	if s.Exit != 0 && !r.MayFail {
		return s, fmt.Errorf("%s: exit code %d %s\n%s", c, s.Exit, s.Killed, tail(errs.Name(), out.Name())) //nolint:err113 // read by people
	}
	if c.Check != nil && s.Killed == "" {
		text, err := os.ReadFile(output)
		if err == nil {
			err = c.Check(text)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w\n%s", c, err, tail(errs.Name()))
		}
	}
	return s, nil
}

// tail is the end of what a program said.
func tail(paths ...string) string {
	var out strings.Builder
	for _, p := range paths {
		b, _ := os.ReadFile(p)
		out.Write(b[max(0, len(b)-2000):])
	}
	return strings.TrimSpace(out.String())
}
