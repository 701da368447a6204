// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// forward leads a port of this machine to a Service until the test ends, and returns its address.
func forward(t *testing.T, namespace, service string) string {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		kubectl = "kubectl"
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, kubectl, "-n", namespace, "port-forward", "service/"+service, ":http")
	said, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it ends because it is told to
	})
	address := regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the program
			return "http://" + m[1]
		}
	}
	require.FailNow(t, "kubectl forwards nothing")
	return ""
}

// visitor asks a web UI for pages as somebody; without a name as nobody.
type visitor struct {
	at, user, password string

	client *http.Client
	// token of the page, without which kopia's server answers nothing but pages.
	token string
}

func newVisitor(t *testing.T, at, user, password string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &visitor{at: at, user: user, password: password, client: &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

func (v *visitor) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return v.do(t, http.MethodGet, path)
}

func (v *visitor) do(t *testing.T, method, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, v.at+path, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-Kopia-Csrf-Token", v.token)
	if v.user != "" {
		req.SetBasicAuth(v.user, v.password)
	}
	res, err := v.client.Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, res.Body.Close()) }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if m := csrfToken.FindSubmatch(body); m != nil {
		v.token = string(m[1])
	}
	return res.StatusCode, string(body)
}

var csrfToken = regexp.MustCompile(`name="kopia-csrf-token" content="([^"]+)"`)

// F-9: TestServer logs in to kopia's web UI of a repository whose password and keys are in two Secrets: with the password
// that was made for it, and with no other. The pages show what is stored; read-only they change nothing.
func TestServer(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := framework.Repository(ns, "nas", framework.OnS3(e.S3Server(t, ns), framework.Bucket))
	r.Spec.Server = &kopiurv1.ServerSpec{ReadOnly: new(true)}
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Repository.Name = "nas"
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), r, p, s)
	e.WaitReady(t, s)
	e.WaitCondition(t, r, kopiurv1.ConditionServerAvailable, metav1.ConditionTrue, kopiurv1.ReasonServerAvailable)

	require.NotNil(t, r.Status.Server)
	var auth corev1.Secret
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: r.Status.Server.GeneratedSecretRef.Name}, &auth))
	user, password := string(auth.Data["username"]), string(auth.Data["password"])
	at := forward(t, ns, strings.Split(r.Status.Server.Endpoint, ".")[0])

	code, _ := newVisitor(t, at, "", "").get(t, "/")
	assert.Equal(t, http.StatusUnauthorized, code, "nobody")
	code, _ = newVisitor(t, at, user, password+"x").get(t, "/")
	assert.Equal(t, http.StatusUnauthorized, code, "a wrong password")
	visitor := newVisitor(t, at, user, password)
	code, body := visitor.get(t, "/")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, strings.ToLower(body), "<title>")
	// The server may have begun before the backup ended. It looks again every minute, and when somebody presses the button.
	code, body = visitor.do(t, http.MethodPost, "/api/v1/repo/sync")
	require.Equal(t, http.StatusOK, code, body)
	code, body = visitor.get(t, "/api/v1/sources")
	require.Equal(t, http.StatusOK, code, body)
	var sources struct {
		Sources []struct {
			Source struct{ Host, UserName, Path string } `json:"source"`
		} `json:"sources"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sources))
	require.Len(t, sources.Sources, 1)
	assert.Equal(t, "/pvc/data", sources.Sources[0].Source.Path)
	code, body = visitor.get(t, "/api/v1/repo/status")
	assert.Equal(t, http.StatusOK, code)
	var status struct {
		Storage  string `json:"storage"`
		ReadOnly bool   `json:"readonly"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &status))
	assert.Equal(t, "s3", status.Storage)
	assert.True(t, status.ReadOnly)
	screenshot(t, at, user, password)

	base := r.DeepCopy()
	r.Spec.Server = nil
	require.NoError(t, e.Client.Patch(t.Context(), r, client.MergeFrom(base)))
	e.WaitGone(t, &auth, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nas-kopia-ui"}})
}

// screenshot shows the page to a browser, where this machine has one, and keeps what it saw.
func screenshot(t *testing.T, at, user, password string) {
	t.Helper()
	browser := installed("chromium-headless-shell", "chromium")
	if browser == "" {
		t.Log("there is no browser here: the login was made over HTTP alone")
		return
	}
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		dir = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(dir, 0o750)) // the browser ends with 3 and says nothing where there is no such folder
	picture := filepath.Join(dir, "kopia-ui.png")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	page := strings.Replace(at, "http://", "http://"+user+":"+password+"@", 1) + "/snapshots"
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,800", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=15000"}
	dom, err := exec.CommandContext(ctx, browser, append(args, "--dump-dom", page)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Log("what the browser said: ", string(exit.Stderr))
	}
	require.NoError(t, err)
	assert.Contains(t, string(dom), "/pvc/data", "the page of somebody who is in lists what the mover stored")
	require.NoError(t, exec.CommandContext(ctx, browser, append(args, "--screenshot="+picture, page)...).Run())
	assert.FileExists(t, picture)
	t.Log("the browser saw ", picture)
}

// installed is the path of the first of these programs that this machine has.
func installed(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
