// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// artifact is something that is built once per content of its inputs and kept in the cache.
type artifact struct {
	name string
	// inputs are files and folders of the checkout; settings is everything else that shapes the result.
	inputs   []string
	settings []string
	build    func(ctx context.Context, into string) error
	// slow is told before a build that takes minutes.
	slow string
}

// builder builds artifacts of one checkout.
type builder struct {
	source    string // the checkout
	cache     string
	goVersion string
	progress  io.Writer
}

// goFlags are the same for every binary of the project, so that all share one build cache.
var goFlags = []string{"-trimpath", "-buildvcs=false"}

func newBuilder(ctx context.Context, source string, progress io.Writer) (*builder, error) {
	source, err := findSource(source)
	if err != nil {
		return nil, err
	}
	cache, err := xdg("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return nil, err
	}
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its version: %w", err)
	}
	return &builder{source: source, cache: cache, goVersion: strings.Join(strings.Fields(string(version)), " "), progress: progress}, nil
}

// findSource finds the checkout at or above a folder. The harness builds what it runs, so it cannot work without one.
func findSource(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "cluster", "binaries", "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("no checkout of kopiur at or above %s", from)
		}
		dir = filepath.Dir(dir)
	}
}

// folder is where an artifact lies once it is built.
func (b *builder) folder(a artifact) (string, error) {
	key, err := cacheKey(b.source, a, b.goVersion)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.cache, a.name+"-"+key), nil
}

// cacheKey hashes everything that shapes an artifact. Tests beside the sources do not.
func cacheKey(source string, a artifact, goVersion string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, goVersion, goFlags)
	for _, s := range a.settings {
		fmt.Fprintln(sum, s)
	}
	var files []string
	for _, input := range a.inputs {
		err := filepath.WalkDir(filepath.Join(source, input), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("hash the sources of %s: %w", a.name, err)
		}
	}
	slices.Sort(files)
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", relative, len(content))
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// ensure returns the artifact's folder and builds it first if it is not there. It builds in a draft folder and
// renames it, so a folder that exists is whole; a lock keeps a second caller waiting instead of building the same.
func (b *builder) ensure(ctx context.Context, a artifact) (string, error) {
	folder, err := b.folder(a)
	if err != nil {
		return "", err
	}
	if b.have(folder) {
		return folder, nil
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, folder+".lock", func() {
		fmt.Fprintf(b.progress, "Waiting for another process that builds %s\n", a.name)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if b.have(folder) {
		return folder, nil // the other one built it
	}
	fmt.Fprintf(b.progress, "Building %s%s\n", a.name, a.slow)
	draft, err := os.MkdirTemp(b.cache, a.name+"-draft-")
	if err != nil {
		return "", err
	}
	stop := b.heartbeat(a.name)
	building, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	err = a.build(building, draft)
	stop()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", a.name, err), os.RemoveAll(draft))
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(draft, folder); err != nil {
		return "", fmt.Errorf("keep %s: %w", a.name, err)
	}
	return folder, b.prune(a.name)
}

// have tells whether a folder is there, and marks it as used.
func (b *builder) have(folder string) bool {
	now := time.Now()
	return os.Chtimes(folder, now, now) == nil
}

// heartbeat shows that a long build is still alive.
func (b *builder) heartbeat(name string) (stop func()) {
	begin, done := time.Now(), make(chan struct{})
	ticker := time.NewTicker(time.Minute)
	go func() {
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(b.progress, "Building %s, for %.0f minutes now\n", name, time.Since(begin).Minutes())
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done) }
}

// unusedFor is how long a version of an artifact may lie unused before a newer one takes its place: branches that are
// switched between keep theirs.
const unusedFor = 14 * 24 * time.Hour

func (b *builder) prune(name string) error {
	folders, err := filepath.Glob(filepath.Join(b.cache, name+"-*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil || time.Since(info.ModTime()) < unusedFor {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove old %s: %w", name, err)
		}
	}
	return nil
}

// compile runs go build in a folder of the checkout. Without workspace the folder's own go.mod decides alone.
func (b *builder) compile(ctx context.Context, dir string, workspace bool, into string, args ...string) error {
	all := append(append([]string{"build"}, goFlags...), "-o", into+"/")
	cmd := exec.CommandContext(ctx, "go", append(all, args...)...)
	cmd.Dir = filepath.Join(b.source, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if !workspace {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", dir, err, strings.TrimSpace(out.String()))
	}
	return nil
}

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+) (v\S+)`)

// moduleVersions reads the versions that a go.mod requires.
func moduleVersions(gomod []byte) map[string]string {
	versions := map[string]string{}
	for _, match := range requirement.FindAllSubmatch(gomod, -1) {
		versions[string(match[1])] = string(match[2])
	}
	return versions
}
