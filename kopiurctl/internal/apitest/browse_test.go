// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

var storedAt = time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)

// contents of the one snapshot, by path: a text is a file, nil a folder, a link says where it leads.
var contents = map[string]any{
	"config":          nil,
	"config/app.yaml": "colour: blue\n",
	"config/current":  link("app.yaml"),
	"my notes\x1b[2J": "escape\n",
	"data.bin":        strings.Repeat("0123456789abcdef", 100_000),
}

type link string

// sessions plays the controller and the movers of a namespace.
type sessions struct {
	w *world
	k *kubelet

	mu sync.Mutex
	// answer is what becomes of the next session; a pod is made for an Open one.
	answer session.Answer
	// spoil changes what a mover writes.
	spoil func(*ran)
	asked [][]string
	pods  int
}

func (w *world) sessions() *sessions {
	w.t.Helper()
	s := &sessions{w: w, k: w.kubelet(), answer: session.Answer{State: session.Open}, spoil: func(*ran) {}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	stream, err := w.client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace), client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse})
	require.NoError(w.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range stream.ResultChan() {
			if cm, ok := e.Object.(*corev1.ConfigMap); ok && session.Read(cm).State == session.Unseen {
				s.decide(ctx, cm)
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		stream.Stop()
		<-done
	})
	return s
}

func (s *sessions) decide(ctx context.Context, cm *corev1.ConfigMap) {
	s.mu.Lock()
	a := s.answer
	if a.State == session.Open {
		s.pods++
		a.Pod = fmt.Sprintf("session-%d", s.pods)
	}
	s.mu.Unlock()
	if a.State == session.Unseen {
		return
	}
	if a.Pod != "" {
		s.k.runs(a.Pod, s.run)
		s.w.pod(s.k, a.Pod, "job", "browse", cm.UID)
	}
	a.Since = storedAt
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": a.Annotations()}})
	if err == nil {
		err = client.IgnoreNotFound(s.w.client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, b)))
	}
	if err != nil && ctx.Err() == nil {
		s.w.t.Errorf("answer %s: %v", cm.Name, err)
	}
}

func (s *sessions) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// questions are the command lines that came, without their ends.
func (s *sessions) questions() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// run is `mover browse`.
func (s *sessions) run(argv []string) *ran {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, argv)
	did := &ran{}
	out := work.NewDataWriter(&did.stdout)
	path := strings.Trim(argv[len(argv)-1], "/")
	what, ok := contents[path]
	status := work.Status{}
	refuse := func(format string, args ...any) {
		status = work.Status{ExitCode: work.ExitPermanent, Code: work.CodeNotFound, Message: fmt.Sprintf(format, args...)}
	}
	switch action := work.BrowseAction(argv[2]); {
	case !ok && path != "":
		refuse("snapshot k0123456789abcdef has no %q", path)
	case action == work.BrowseList:
		b, _ := json.Marshal(work.BrowsePage{Number: 1, Entries: entries(path)})
		_, _ = out.Write(b)
	case action == work.BrowseDownload:
		archive(out, path)
	case action == work.BrowseCat:
		if text, is := what.(string); is {
			_, _ = out.Write([]byte(text))
		} else {
			refuse("%q is no file", path)
		}
	}
	_ = out.Finish(status)
	s.spoil(did)
	return did
}

func entries(dir string) []work.BrowseEntry {
	var out []work.BrowseEntry
	for path, what := range contents {
		parent := filepath.Dir(path)
		if parent == "." {
			parent = ""
		}
		e := work.BrowseEntry{Name: filepath.Base(path), Type: "file", Mode: "-rw-r-----", UID: 1000, GID: 2000, ModTime: storedAt}
		switch v := what.(type) {
		case string:
			e.Size = int64(len(v))
		case link:
			e.Type, e.Mode, e.LinkTarget = "symlink", "Lrwxrwxrwx", string(v)
		default:
			e.Type, e.Mode, e.Files, e.Size = "directory", "drwxr-x---", 1, 13
		}
		if parent == dir {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b work.BrowseEntry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func archive(out *work.DataWriter, path string) {
	t := tar.NewWriter(out)
	text, file := contents[path].(string)
	put := func(h tar.Header, text string) {
		h.ModTime, h.Size = storedAt, int64(len(text))
		_ = t.WriteHeader(&h)
		_, _ = t.Write([]byte(text))
	}
	if file {
		put(tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(path), Mode: 0o640}, text)
	} else {
		put(tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o750}, "")
		put(tar.Header{Typeflag: tar.TypeReg, Name: "app.yaml", Mode: 0o640}, "colour: blue\n")
		put(tar.Header{Typeflag: tar.TypeSymlink, Name: "current", Linkname: "app.yaml", Mode: 0o777}, "")
	}
	_ = t.Close()
}

// browsing is a world with one backup to look into.
func browsing(t *testing.T) (*world, *sessions) {
	t.Helper()
	w := newWorld(t)
	s := succeeded(snapshot("one", "data"), "2026-03-05T08:30:00.123Z")
	s.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	w.create(s)
	controller := w.sessions()
	return w, controller
}

// open are the sessions of the namespace.
func (w *world) open() []corev1.ConfigMap {
	w.t.Helper()
	var list corev1.ConfigMapList
	require.NoError(w.t, w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse}))
	return list.Items
}

func TestLs(t *testing.T) {
	t.Parallel()
	w, s := browsing(t)
	w.run("ls", "one").golden("ls-first")
	w.run("ls", "one", "/config/").golden("ls-folder")
	w.run("ls", "one", "-o", "wide").golden("ls-wide")
	w.run("ls", "one", "-o", "name").golden("ls-name")
	w.run("ls", "one", "config", "-o", "json").golden("ls-json")
	w.run("ls", "one", "config", "-o", "yaml").golden("ls-yaml")
	w.run("ls", "one", "confg").golden("ls-no-path")
	asked := s.questions()
	require.Len(t, asked, 7)
	assert.Equal(t, []string{
		"/mover", "browse", "list", "--snapshot", "k0123456789abcdef", "--username", "data", "--hostname", "shop", "--source-path", "/pvc/data",
		"--start-time", "2026-03-05T08:30:00.123Z", "--", "/config/",
	}, asked[1])
	open := w.open()
	require.Len(t, open, 1, "one session for all questions")
	r, err := session.Parse(&open[0])
	require.NoError(t, err)
	assert.Equal(t, session.Request{Repository: kopiurv1.RepositoryRef{Name: "nas"}.In(w.namespace), TTL: session.DefaultTTL}, r)
	w.run("ls", "one", "config", "-o", "name", "--session-ttl", "1h").golden("ls-open-already")
}

func TestCat(t *testing.T) {
	t.Parallel()
	w, s := browsing(t)
	r := w.run("cat", "one", "data.bin")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Equal(t, contents["data.bin"], r.stdout)
	w.run("cat", "one", "config").golden("cat-folder")
	w.run("cat", "one", "config/current").golden("cat-link")
	w.run("cat", "one", "config/ap.yaml").golden("cat-no-path")
	w.run("cat", "one", "config/app.yaml", "-o", "json").golden("cat-output")

	// A node that dies in the midst of an answer has not given all of it.
	s.set(func() { s.spoil = func(did *ran) { did.stdout.Truncate(did.stdout.Len() / 2); did.cut = true } })
	r = w.run("cat", "one", "data.bin")
	assert.Equal(t, cli.Failed, r.code)
	assert.Contains(t, r.stderr, "the answer was cut off behind ")
	assert.Less(t, len(r.stdout), len(contents["data.bin"].(string)))
	// Neither has one whose frames are not of ours.
	s.set(func() { s.spoil = func(did *ran) { did.stdout.Reset(); did.stdout.WriteString("sh: not found") } })
	r = w.run("cat", "one", "data.bin")
	assert.Equal(t, cli.Failed, r.code)
	assert.Contains(t, r.stderr, "malformed stream")
	assert.Empty(t, r.stdout)
}

func TestDownload(t *testing.T) {
	t.Parallel()
	w, s := browsing(t)
	to := filepath.Join(t.TempDir(), "to")
	w.run("download", "one", "config", "--to", to).golden("download-folder", to, "TO")
	b, err := os.ReadFile(filepath.Join(to, "app.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "colour: blue\n", string(b))
	st, err := os.Stat(filepath.Join(to, "app.yaml"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), st.Mode())
	assert.True(t, st.ModTime().Equal(storedAt))
	leads, err := os.Readlink(filepath.Join(to, "current"))
	require.NoError(t, err)
	assert.Equal(t, "app.yaml", leads)

	require.NoError(t, os.WriteFile(filepath.Join(to, "app.yaml"), []byte("mine"), 0o600))
	w.run("download", "one", "config", "--to", to).golden("download-exists", to, "TO")
	b, err = os.ReadFile(filepath.Join(to, "app.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(b))
	w.run("download", "one", "config", "--to", to, "--force").golden("download-force", to, "TO")
	w.run("download", "one", "data.bin", "--to", to).golden("download-file", to, "TO")
	w.run("download", "one", "nothing", "--to", to).golden("download-no-path", to, "TO")

	s.set(func() { s.spoil = func(did *ran) { did.stdout.Truncate(did.stdout.Len() - 600); did.cut = true } })
	other := filepath.Join(filepath.Dir(to), "other")
	r := w.run("download", "one", "config", "--to", other)
	assert.Equal(t, cli.Failed, r.code)
	assert.Contains(t, r.stderr, "the answer was cut off behind ")
	left, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	assert.Len(t, left, 1, "what was cut leaves nothing, hidden or not")
}

// What stands in the way is said, and the next question gets another chance.
func TestASessionThatIsRefused(t *testing.T) {
	t.Parallel()
	w, s := browsing(t)
	s.set(func() {
		s.answer = session.Answer{State: session.Refused, Reason: kopiurv1.ReasonRepositoryNotReady, Message: "Repository shop/nas is suspended"}
	})
	w.run("ls", "one").golden("ls-refused")
	refused := w.open()
	require.Len(t, refused, 1, "kubectl describe configmap shows it still")
	s.set(func() { s.answer = session.Answer{State: session.Open} })
	w.run("ls", "one", "-o", "name").golden("ls-after-a-refusal")
	open := w.open()
	require.Len(t, open, 1)
	assert.NotEqual(t, refused[0].UID, open[0].UID)

	// One whose pod has gone is opened again.
	s.k.runs(session.Read(&open[0]).Pod, nil)
	gone := w.start(t.Context(), "ls", "one", "-o", "name")
	require.NoError(t, w.client.Delete(t.Context(), &open[0]))
	r := gone.wait()
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Contains(t, r.stdout, "data.bin")
}

func TestBrowsingRefuses(t *testing.T) {
	t.Parallel()
	w, s := browsing(t)
	w.create(snapshot("later", "data"), failed(snapshot("never", "data")))
	for name, args := range map[string][]string{
		"ls-no-snapshot":       {"ls", "on"},
		"ls-nothing-stored":    {"ls", "later"},
		"ls-failed":            {"ls", "never"},
		"ls-no-argument":       {"ls"},
		"ls-three":             {"ls", "one", "two", "three"},
		"ls-ttl":               {"ls", "one", "--session-ttl", "1s"},
		"ls-timeout":           {"ls", "one", "--timeout", "-1s"},
		"ls-everywhere":        {"ls", "one", "-A"},
		"cat-no-path-argument": {"cat", "one"},
		"download-output":      {"download", "one", "-o", "yaml"},
		"session-end-two":      {"session", "end", "one", "two"},
		"session-end-none":     {"session", "end"},
		"session-end-unknown":  {"session", "end", "on"},
	} {
		w.run(args...).golden(name)
	}
	assert.Empty(t, s.questions())
	assert.Empty(t, w.open())
	s.set(func() { s.answer = session.Answer{} })
	name := session.Name(kopiurv1.RepositoryRef{Name: "nas"}.In(w.namespace))
	w.run("ls", "one", "--timeout", "3s").golden("ls-nobody-answers")
	w.run("session", "end").golden("session-end-unseen", name, "browse-nas-0")

	// One whose pod does not start, as it is found.
	cm := session.Request{Repository: kopiurv1.RepositoryRef{Name: "nas"}.In(w.namespace), TTL: session.DefaultTTL}.ConfigMap(w.namespace)
	cm.Annotations = map[string]string{}
	for k, v := range (session.Answer{State: session.Starting, Reason: kopiurv1.ReasonMoverStarting, Message: "pod x: ImagePullBackOff"}).Annotations() {
		if v != nil {
			cm.Annotations[k] = *v
		}
	}
	require.NoError(t, w.client.Create(t.Context(), cm))
	w.run("ls", "one", "--timeout", "5s").golden("ls-never-opens", name, "browse-nas-0")
}

// TestTheBrowseRole: somebody with the role that the chart ships, and nothing else, can do all of it. Without it the exit code
// says so, and a part of it is not enough to see anything.
func TestTheBrowseRole(t *testing.T) {
	t.Parallel()
	w, _ := browsing(t)
	b, err := os.ReadFile(filepath.Join(root, "charts", "kopiur", "files", "browse-rbac.yaml"))
	require.NoError(t, err)
	var shipped struct {
		ClusterRole []rbacv1.PolicyRule `json:"clusterRole"`
	}
	require.NoError(t, yaml.UnmarshalStrict(b, &shipped))
	user := "viewer-" + w.namespace
	w.as(user).run("ls", "one").golden("ls-forbidden", user, "viewer")
	w.bind(user, shipped.ClusterRole)
	viewer := w.as(user)
	for _, line := range [][]string{
		{"ls", "one"}, {"ls", "one", "config"}, {"cat", "one", "config/app.yaml"}, {"download", "one", "config", "--to", t.TempDir()}, {"session", "end", "one"}, {"session", "end"},
	} {
		r := viewer.run(line...)
		assert.Equal(t, cli.OK, r.code, "%v: %s", line, r.stderr)
	}
	assert.Equal(t, cli.NotFound, viewer.run("ls", "on").code, "and is told what there is")

	// A session that may be opened and not asked is no way in.
	without := "partly-" + w.namespace
	w.bind(without, slices.DeleteFunc(slices.Clone(shipped.ClusterRole), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/exec") }))
	r := w.as(without).run("ls", "one")
	assert.Equal(t, cli.Forbidden, r.code, r.stderr)
	assert.Contains(t, r.stderr, "ClusterRole kopiur-browse")
	assert.Empty(t, r.stdout)
}

// bind gives a user some rights in the namespace, and waits until the API server knows of the last.
func (w *world) bind(user string, rules []rbacv1.PolicyRule) {
	w.t.Helper()
	name := metav1.ObjectMeta{Namespace: w.namespace, Name: user}
	require.NoError(w.t, w.client.Create(w.t.Context(), &rbacv1.Role{ObjectMeta: name, Rules: rules}))
	require.NoError(w.t, w.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	last := rules[len(rules)-1]
	resource, sub, _ := strings.Cut(last.Resources[0], "/")
	require.Eventually(w.t, func() bool {
		ask := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: w.namespace, Verb: last.Verbs[0], Group: last.APIGroups[0], Resource: resource, Subresource: sub,
			},
		}}
		return w.client.Create(w.t.Context(), ask) == nil && ask.Status.Allowed
	}, patience, 10*time.Millisecond)
}

func TestSessionEnd(t *testing.T) {
	t.Parallel()
	w, _ := browsing(t)
	other := succeeded(snapshot("other", "data"), "2026-03-05T08:30:00Z")
	other.Spec.Repository = &kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	w.create(other)
	nas, offsite := session.Name(kopiurv1.RepositoryRef{Name: "nas"}.In(w.namespace)), session.Name(*other.Spec.Repository)
	for _, name := range []string{"one", "other"} {
		require.Equal(t, cli.OK, w.run("ls", name).code)
	}
	require.Len(t, w.open(), 2)
	w.run("session", "end", "one").golden("session-end-one", nas, "browse-nas-0")
	left := w.open()
	require.Len(t, left, 1)
	assert.Equal(t, offsite, left[0].Name)
	// A ConfigMap of somebody else is none of ours.
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: nas}}
	require.NoError(t, w.client.Create(t.Context(), mine))
	w.run("ls", "one").golden("ls-name-taken", nas, "browse-nas-0")
	w.run("session", "end", "-o", "name").golden("session-end-all")
	assert.Empty(t, w.open())
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(mine), mine)
	assert.False(t, apierrors.IsNotFound(err))
}
