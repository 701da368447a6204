// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inputs makes a binary and a folder of files whose times differ between calls.
func inputs(t *testing.T) (binary, folder string) {
	t.Helper()
	dir := t.TempDir()
	binary, folder = filepath.Join(dir, "program"), filepath.Join(dir, "extra")
	check(t, os.WriteFile(binary, bytes.Repeat([]byte("binary"), 1000), 0o755))
	check(t, os.MkdirAll(filepath.Join(folder, "etc"), 0o755))
	check(t, os.WriteFile(filepath.Join(folder, "etc", "b"), []byte("b"), 0o664))
	check(t, os.WriteFile(filepath.Join(folder, "etc", "a"), []byte("a"), 0o600))
	check(t, os.Symlink("a", filepath.Join(folder, "etc", "link")))
	check(t, os.Chtimes(filepath.Join(folder, "etc", "a"), time.Time{}, time.Now().Add(time.Hour)))
	return binary, folder
}

func buildArgs(t *testing.T, out string) []string {
	t.Helper()
	binary, folder := inputs(t)
	return []string{
		"build", "--name", "localhost/kopiur/x:dev", "--binary", binary, "--entrypoint", "/bin/x", "--user", "65532:65532",
		"--layer-dir", folder, "--env", "A=1", "--label", "k=v", "--cmd", "serve", "--platform", "linux/amd64", "--out", out,
	}
}

func runImage(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	check(t, run(t.Context(), args, &out))
	return strings.TrimSpace(out.String())
}

func TestTheSameInputsGiveTheSameArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := filepath.Join(dir, "1.tar"), filepath.Join(dir, "2.tar")
	digest := runImage(t, buildArgs(t, one)...)
	if again := runImage(t, buildArgs(t, other)...); again != digest {
		t.Fatalf("digests %s and %s", digest, again)
	}
	a, err := os.ReadFile(one)
	check(t, err)
	b, err := os.ReadFile(other)
	check(t, err)
	if !bytes.Equal(a, b) {
		t.Fatal("the archives differ")
	}
}

func TestWhatIsPushedIsWhatWasBuilt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New())
	defer server.Close()
	archive := filepath.Join(t.TempDir(), "x.tar")
	built := runImage(t, buildArgs(t, archive)...)
	reference := strings.TrimPrefix(server.URL, "http://") + "/kopiur/x:1.0.0"
	if pushed := runImage(t, "push", "--out", archive, "--insecure", reference); pushed != built {
		t.Fatalf("built %s, pushed %s", built, pushed)
	}

	tag, err := name.NewTag(reference)
	check(t, err)
	image, err := remote.Image(tag)
	check(t, err)
	digest, err := image.Digest()
	check(t, err)
	if digest.String() != built {
		t.Fatalf("built %s, the registry has %s", built, digest)
	}
	config, err := image.ConfigFile()
	check(t, err)
	c := config.Config
	if strings.Join(c.Entrypoint, " ") != "/bin/x" || strings.Join(c.Cmd, " ") != "serve" || c.User != "65532:65532" || c.Labels["k"] != "v" || config.Architecture != "amd64" {
		t.Fatalf("config %+v", config)
	}
	checkFiles(t, image)
}

func checkFiles(t *testing.T, image v1.Image) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	want := map[string]int64{"bin": 0o755, "bin/x": 0o755, "etc": 0o755, "etc/a": 0o600, "etc/b": 0o644, "etc/link": 0o755}
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check(t, err)
		path := strings.TrimSuffix(header.Name, "/")
		mode, found := want[path]
		if !found || header.Mode != mode || header.Uid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s: mode %o, owner %d, time %s", path, header.Mode, header.Uid, header.ModTime)
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":               "no verb given",
		"bake":           "unknown verb",
		"build --name x": "is required",
		"build --name x --binary b --entrypoint x --out o":                     "clean absolute path",
		"build --name localhost/x --binary /none --entrypoint /x --out /tmp/o": "no such file",
		"push --out f": "want one reference",
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
