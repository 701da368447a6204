// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

const password = "correct horse battery staple"

// bench is a repository with the two programs that use it.
type bench struct {
	t                  *testing.T
	kopia, mover       string
	root, repo, source string
	socket             string
	// stdout of the last mover.
	stdout []byte
	// backend is where the repository is, a folder where it says nothing.
	backend work.Backend
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir(), kopia: os.Getenv("KOPIUR_KOPIA_CLI")}
	if b.kopia == "" {
		out, err := exec.CommandContext(t.Context(), "../../../hack/tool", "kopia").Output()
		require.NoError(t, err, "build the kopia CLI")
		b.kopia = strings.TrimSpace(string(out))
	}
	// The kernel allows 107 bytes for the path of a socket.
	sockets, err := os.MkdirTemp("", "k") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	b.socket = filepath.Join(sockets, "s")
	// The mover as it is released: without the build tags of tests.
	b.mover = filepath.Join(b.root, "mover")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.mover, "../../cmd/mover").CombinedOutput()
	require.NoError(t, err, "%s", out)
	b.repo, b.source = b.dir("repo"), b.dir("source")
	require.NoError(t, os.WriteFile(filepath.Join(b.dir("password"), work.DefaultPasswordKey), []byte(password), 0o600))
	for _, side := range []string{"from", "to"} {
		require.NoError(t, os.WriteFile(filepath.Join(b.dir(filepath.Join(side, work.SecretsPassword)), work.DefaultPasswordKey), []byte(password), 0o600))
	}
	for _, d := range []string{"auth", "cache", "work", "kopia"} {
		b.dir(d)
	}
	b.fill()
	return b
}

func (b *bench) dir(name string) string {
	p := filepath.Join(b.root, name)
	require.NoError(b.t, os.MkdirAll(p, 0o750))
	return p
}

func (b *bench) fill() {
	for i := range 50 {
		p := filepath.Join(b.source, fmt.Sprintf("d%d", i%5), fmt.Sprintf("f%d", i))
		require.NoError(b.t, os.MkdirAll(filepath.Dir(p), 0o750))
		require.NoError(b.t, os.WriteFile(p, []byte(strings.Repeat(p, 1+i*300)), 0o640))
	}
	require.NoError(b.t, os.Symlink("d0/f0", filepath.Join(b.source, "link")))
}

// run does one operation with the mover.
func (b *bench) run(id string, o work.Operation) work.Result {
	b.t.Helper()
	backend := b.backend
	if backend == (work.Backend{}) {
		backend = work.Backend{Filesystem: &work.Filesystem{Path: b.repo}}
	}
	spec, err := work.EncodeSpec(work.Spec{RequestID: id, Operation: o, Repository: work.Repository{
		Name: "interop", Backend: backend,
		PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-interop",
	}})
	require.NoError(b.t, err)
	in := func(name string) string { return filepath.Join(b.root, name) }
	cmd := exec.CommandContext(b.t.Context(), b.mover, "run", "--password-dir", in("password"), "--auth-dir", in("auth"),
		"--stream-socket", b.socket, "--source-dir", in("from"), "--destination-dir", in("to"), "--cache-dir", in("cache"), "--work-dir", in("work"), "--termination-log", in("termination-log"))
	cmd.Env = []string{work.EnvSpec + "=" + spec}
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, "%s", out)
	b.stdout = out
	text, err := os.ReadFile(in("termination-log"))
	require.NoError(b.t, err)
	r, err := work.DecodeResult(string(text))
	require.NoError(b.t, err)
	return r
}

// cli runs the kopia command.
func (b *bench) cli(args ...string) string {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), b.kopia, args...)
	home := filepath.Join(b.root, "kopia")
	cmd.Env = []string{
		"HOME=" + home, "KOPIA_PASSWORD=" + password, "KOPIA_CONFIG_PATH=" + filepath.Join(home, "repository.config"),
		"KOPIA_CACHE_DIRECTORY=" + filepath.Join(home, "cache"), "KOPIA_LOG_DIR=" + filepath.Join(home, "logs"), "KOPIA_CHECK_FOR_UPDATES=false",
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(b.t, err, "kopia %s\n%s\n%s", strings.Join(args, " "), out, stderr.String())
	return string(out)
}

func (b *bench) same(dir string) {
	b.t.Helper()
	out, err := exec.CommandContext(b.t.Context(), "diff", "-r", "--no-dereference", b.source, dir).CombinedOutput()
	require.NoError(b.t, err, "%s", out)
}

var identity = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

type listed struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags"`
	Source      struct {
		Host, UserName, Path string
	} `json:"source"`
}

func TestKopiaReadsWhatTheMoverWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.True(t, b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}).Bootstrap.Created)
	snap := b.run("r1", work.Operation{Snapshot: &work.Snapshot{
		Identity: identity, Path: b.source, Description: "by the mover",
		Tags: map[string]string{work.TagConfig: "config:web"},
	}}).Snapshot

	// The insecure key derivation of test builds must never be in a released binary.
	format, err := os.ReadFile(filepath.Join(b.repo, "kopia.repository.f"))
	require.NoError(t, err)
	var stored struct{ KeyAlgo string }
	require.NoError(t, json.Unmarshal(format, &stored))
	assert.Equal(t, "scrypt-65536-8-1", stored.KeyAlgo)

	b.cli("repository", "connect", "filesystem", "--path", b.repo, "--override-username", "kopiur", "--override-hostname", "kopiur-interop")
	var list []listed
	require.NoError(t, json.Unmarshal([]byte(b.cli("snapshot", "list", "--all", "--json")), &list))
	require.Len(t, list, 1)
	assert.Equal(t, snap.SnapshotID, list[0].ID)
	assert.Equal(t, "by the mover", list[0].Description)
	assert.Equal(t, map[string]string{"tag:kopiur": "config:web", "tag:kopiur-request": "r1", "tag:kopiur-unstored": "{}"}, list[0].Tags)
	assert.Equal(t, []string{"web", "apps", "/pvc/data"}, []string{list[0].Source.UserName, list[0].Source.Host, list[0].Source.Path})

	b.cli("snapshot", "verify", "--verify-files-percent=100")
	b.cli("content", "verify", "--download-percent=100")
	assert.Contains(t, b.cli("maintenance", "info", "--json"), "kopiur@kopiur-interop")
	b.cli("maintenance", "run", "--full")
	target := b.dir("by-kopia")
	b.cli("snapshot", "restore", snap.SnapshotID, target)
	b.same(target)
}

func TestTheMoverReadsWhatKopiaWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cli("repository", "create", "filesystem", "--path", b.repo, "--override-username", "web", "--override-hostname", "apps")
	b.cli("snapshot", "create", b.source, "--override-source", "web@apps:/pvc/data", "--tags", "made:elsewhere")

	boot := b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{}}).Bootstrap
	assert.False(t, boot.Created)
	assert.Equal(t, int64(1), boot.SnapshotCount)
	found := b.run("r1", work.Operation{Resolve: &work.Resolve{Identity: identity}}).Resolve
	require.Equal(t, work.ResolutionFound, found.Resolution)
	target := b.dir("by-mover")
	back := b.run("r2", work.Operation{Restore: &work.Restore{SnapshotID: found.SnapshotID, TargetPath: target}}).Restore
	assert.Equal(t, int64(50), back.FilesRestored)
	b.same(target)

	// The next backup of the same identity builds on what kopia stored: nothing is read again.
	next := b.run("r3", work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: b.source}}).Snapshot
	assert.Equal(t, int64(51), next.FilesUnchanged, "50 files and a link")
	assert.Zero(t, next.FilesNew)
	b.cli("snapshot", "verify", "--verify-files-percent=100")
	var list []listed
	require.NoError(t, json.Unmarshal([]byte(b.cli("snapshot", "list", "--all", "--json")), &list))
	assert.Len(t, list, 2)
}

// What a command wrote is a snapshot that kopia lists, verifies and restores like one it took from standard input itself.
func TestKopiaReadsAStream(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	data := strings.Repeat("insert into t values (1);\n", 100_000)
	fed := make(chan error, 1)
	go func() { fed <- feed(t, b.socket, data) }()
	snap := b.run("r1", work.Operation{StreamSnapshot: &work.StreamSnapshot{
		Identity: work.Identity{Username: "db", Hostname: "apps", Path: "/stream/dump.sql"}, FileName: "dump.sql",
	}}).Snapshot
	require.NoError(t, <-fed)

	b.cli("repository", "connect", "filesystem", "--path", b.repo, "--override-username", "kopiur", "--override-hostname", "kopiur-interop")
	b.cli("snapshot", "verify", "--verify-files-percent=100")
	assert.Equal(t, data, b.cli("show", snap.RootID+"/dump.sql"))
	assert.Contains(t, b.cli("ls", "-l", snap.RootID), "dump.sql")
	back := b.dir("by-kopia")
	b.cli("snapshot", "restore", snap.SnapshotID, back)
	got, err := os.ReadFile(filepath.Join(back, "dump.sql"))
	require.NoError(t, err)
	assert.Equal(t, data, string(got))
}

// feed is a helper whose command writes data.
func feed(t *testing.T, socket, data string) error {
	t.Helper()
	var conn net.Conn
	for conn == nil {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
		if err == nil {
			conn = c
			break
		}
		select {
		case <-t.Context().Done():
			return t.Context().Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer conn.Close()
	if _, early, err := work.ReadHello(conn); err != nil || early != nil {
		return fmt.Errorf("hello: %w, %v", err, early)
	}
	d := work.NewDataWriter(conn)
	if _, err := d.Write([]byte(data)); err != nil {
		return err
	}
	if err := d.Finish(work.Status{}); err != nil {
		return err
	}
	st, err := work.ReadStatus(conn)
	if err == nil && st.ExitCode != 0 {
		err = fmt.Errorf("the mover answers %d: %s", st.ExitCode, st.Message)
	}
	return err
}

// Copies of both kinds are repositories like any other, and kopia's own copying finds nothing left to do.
func TestKopiaReadsCopies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	b.run("r1", work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: b.source}})
	mirror, other := b.dir("mirror"), b.dir("other")
	onFolder := func(path string) work.Backend { return work.Backend{Filesystem: &work.Filesystem{Path: path}} }
	b.run("r2", work.Operation{Replicate: &work.Replicate{Destination: onFolder(mirror)}})
	b.cli("repository", "create", "filesystem", "--path", other)
	b.run("r3", work.Operation{Migrate: &work.Migrate{Destination: work.Repository{
		Name: "other", Backend: onFolder(other), PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-other",
	}}})
	connect := func(place string) {
		// Kopia takes the keys from its cache for a quarter of an hour, also those of another repository.
		require.NoError(t, os.RemoveAll(filepath.Join(b.root, "kopia", "cache")))
		b.cli("repository", "connect", "filesystem", "--path", place, "--override-username", "kopiur", "--override-hostname", "kopiur-interop")
	}
	for _, place := range []string{mirror, other} {
		connect(place)
		b.cli("snapshot", "verify", "--verify-files-percent=100")
		var list []listed
		require.NoError(t, json.Unmarshal([]byte(b.cli("snapshot", "list", "--all", "--json")), &list))
		require.Len(t, list, 1)
		back := filepath.Join(b.root, "back", filepath.Base(place))
		b.cli("snapshot", "restore", list[0].ID, back)
		b.same(back)
	}
	connect(b.repo)
	before := b.count(mirror)
	b.cli("repository", "sync-to", "filesystem", "--path", mirror, "--must-exist", "--no-update")
	assert.Equal(t, before, b.count(mirror), "nothing was missing")
}

// count counts the blobs of a place, without kopia's logs.
func (b *bench) count(dir string) int {
	n := 0
	require.NoError(b.t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(strings.TrimPrefix(path, dir), "_l") {
			n++
		}
		return err
	}))
	return n
}

// The image of a block device is put together by the mover from objects, and is still an ordinary file to kopia.
func TestKopiaReadsTheImageOfADevice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	disk := filepath.Join(b.root, "disk")
	f, err := os.Create(disk)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(200<<20+512))
	for _, off := range []int64{0, 5 << 20, 63 << 20, 150 << 20, 200 << 20} {
		_, err := f.WriteAt([]byte(strings.Repeat("disk", 50)), off)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	snap := b.run("r1", work.Operation{Snapshot: &work.Snapshot{Identity: identity, DevicePath: disk}}).Snapshot
	assert.Less(t, snap.BytesUploaded, int64(1<<20))

	b.cli("repository", "connect", "filesystem", "--path", b.repo, "--override-username", "kopiur", "--override-hostname", "kopiur-interop")
	b.cli("snapshot", "verify", "--verify-files-percent=100")
	to := filepath.Join(b.root, "by-kopia")
	b.cli("snapshot", "restore", snap.SnapshotID, to)
	out, err := exec.CommandContext(t.Context(), "cmp", disk, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
	b.cli("maintenance", "run", "--full")
	b.cli("snapshot", "verify", "--verify-files-percent=100")
}

// C-10: an old format has no epochs. Nobody upgrades it in passing, the result says that their parameters do nothing, and
// everything else works.
func TestTheMoverUsesAnOldFormat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cli("repository", "create", "filesystem", "--path", b.repo, "--format-version=1", "--override-username", "web", "--override-hostname", "apps")
	r := b.run("r0", work.Operation{Bootstrap: &work.Bootstrap{Parameters: &work.Parameters{Epoch: &work.Epoch{AdvanceOnCount: 30}}, Owner: &work.OwnerRule{Anyone: true}}})
	assert.Contains(t, r.Warning, "parameters.epoch has no effect")
	assert.False(t, r.Bootstrap.Parameters.Epoch.Enabled)
	snap := b.run("r1", work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: b.source}}).Snapshot
	m := b.run("r2", work.Operation{Maintain: &work.Maintain{Mode: work.MaintenanceFull}}).Maintain
	assert.Nil(t, m.Epoch)
	assert.Positive(t, m.IndexBlobCount)
	target := b.dir("by-mover")
	b.run("r3", work.Operation{Restore: &work.Restore{SnapshotID: snap.SnapshotID, TargetPath: target}})
	b.same(target)
	var status struct{ ContentFormat struct{ Version int } }
	require.NoError(t, json.Unmarshal([]byte(b.cli("repository", "status", "--json")), &status))
	assert.Equal(t, 1, status.ContentFormat.Version)
}
