// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/rclone"
	"github.com/kopia/kopia/repo/jsonencoding"
)

// rcloneProgram is looked for in PATH. It is the only program that a mover ever starts.
const rcloneProgram = "rclone"

// Exit codes of rclone.
const (
	rcloneNoFolder = 3
	rcloneTryAgain = 5
)

// Rclone is a folder of one of rclone's remotes.
type Rclone struct {
	// RemotePath is remote:path.
	RemotePath string
	// Config is the text of rclone.conf. It goes into the temporary folder, which has to be in memory.
	Config string
	// StartupTimeout bounds rclone's start; kopia's own applies where it is zero.
	StartupTimeout time.Duration
}

func (r *Rclone) String() string { return "folder " + r.plainPath() + " of rclone" }

// plainPath leaves out what stands in the remote's name: a remote on the fly has its options there, keys included.
func (r *Rclone) plainPath() string {
	if strings.HasPrefix(r.RemotePath, ":") || strings.Contains(r.RemotePath, ",") {
		kind, _, _ := strings.Cut(strings.TrimPrefix(r.RemotePath, ":"), ",")
		kind, _, _ = strings.Cut(kind, ":")
		return ":" + kind + ":…"
	}
	return r.RemotePath
}

func (r *Rclone) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "rclone", Config: &rclone.Options{
		RemotePath: r.RemotePath, RCloneExe: rcloneProgram, EmbeddedConfig: r.Config,
		StartupTimeout: jsonencoding.Duration{Duration: r.StartupTimeout},
		// What kopia's command line does: most stores have a file when it is whole, and some cannot rename.
		AtomicWrites: true,
	}}
}

// address compares the words only: two remotes may be one place, and only their configuration knows.
func (r *Rclone) address() address {
	name, path, _ := strings.Cut(r.RemotePath, ":")
	return address{store: "rclone " + name, prefix: folderPath(path), folders: true}
}

func (*Rclone) clockURL() string { return "" }

// probe lets rclone list the folder, once. A folder that is not there is empty: the stores behind most remotes have no
// folders, and cannot tell.
func (r *Rclone) probe(ctx context.Context) (location, error) {
	args := []string{"lsf", "--max-depth", "1", "--retries", "1", "--low-level-retries", "2", r.RemotePath}
	if r.Config != "" {
		path, err := writeRcloneConfig(r.Config)
		if err != nil {
			return location{}, err
		}
		defer func() { _ = os.Remove(path) }()
		args = append(args, "--config", path)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, rcloneProgram, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return location{}, ErrNoRclone
	case ctx.Err() != nil:
		return location{}, fmt.Errorf("%w: list: %w", ErrStorage, ctx.Err())
	case errors.As(err, &exit) && exit.ExitCode() == rcloneNoFolder:
		return location{}, nil
	case errors.As(err, &exit):
		return location{}, fmt.Errorf("%w: %w", ErrStorage, rcloneError(exit.ExitCode(), said.String()))
	case err != nil:
		return location{}, fmt.Errorf("%w: start rclone: %w", ErrStorage, err)
	}
	var names []string
	for name := range strings.Lines(out.String()) {
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "\n"), "/"))
	}
	return Storage{Rclone: r}.folder(ctx, names)
}

func writeRcloneConfig(text string) (string, error) {
	f, err := os.CreateTemp("", "rclone-*.conf") // readable by nobody else
	if err != nil {
		return "", fmt.Errorf("write rclone.conf: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("write rclone.conf: %w", err)
	}
	return f.Name(), nil
}

// RcloneError is what rclone said before it gave up.
type RcloneError struct {
	// Retryable: rclone itself says that it may work later.
	Retryable bool
	Said      string
}

func (e *RcloneError) Error() string { return "rclone: " + e.Said }

// rcloneError takes rclone's last line, without its date and level.
func rcloneError(code int, said string) *RcloneError {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	for _, level := range []string{"CRITICAL", "ERROR", "NOTICE", "Fatal error"} {
		if _, rest, ok := strings.Cut(last, level); ok {
			last = strings.TrimLeft(rest, " :")
			break
		}
	}
	return &RcloneError{Retryable: code == rcloneTryAgain, Said: last}
}

// rcloneStart names the field that gives rclone more time to start. There is no type for it.
func rcloneStart(err error) error {
	if err != nil && strings.Contains(err.Error(), "timed out waiting for rclone to start") {
		return &RcloneError{Retryable: true, Said: "it did not start in time; backend.rclone.startupTimeout gives it more"}
	}
	return err
}
