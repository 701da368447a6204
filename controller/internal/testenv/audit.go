// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EnvAuditLog names the audit log of the API server that EnvKubeconfig leads to.
const EnvAuditLog = "KOPIUR_TEST_AUDIT_LOG"

// auditPolicy is for an API server of the tests' own.
const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

// Audit is what the controllers of one test ask of the API server, as its audit log has it: what was really asked, by
// whatever client.
type Audit struct {
	env    *Env
	offset int64
	since  time.Time
}

// Request is one that was answered.
type Request struct {
	Verb     string
	Resource string
	Name     string
	Code     int
	Received time.Time
}

// String names a request as the sums do.
func (r Request) String() string { return r.Verb + " " + r.Resource }

// Watch reports whether a request only listens. What an informer reads first comes as a watch as well.
func (r Request) Watch() bool { return r.Verb == "watch" }

// Writes reports whether a request changes something.
func (r Request) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// agent is the name that the controllers of a test give themselves.
func (e *Env) agent() string { return "kopiur-controller/" + e.Namespace }

// Audit follows what controllers of this test ask for from now on.
func (e *Env) Audit() *Audit {
	e.T.Helper()
	require.NotEmpty(e.T, server.audit, "the API server's audit log is not known: set %s beside %s", EnvAuditLog, EnvKubeconfig)
	info, err := os.Stat(server.audit)
	require.NoError(e.T, err)
	return &Audit{env: e, offset: info.Size(), since: time.Now()} //nolint:forbidigo // the API server's clock is the machine's
}

// Requests are those that were received since, watches left out.
func (a *Audit) Requests() []Request {
	a.env.T.Helper()
	return slices.DeleteFunc(a.All(), Request.Watch)
}

// All are those that were received since.
func (a *Audit) All() []Request {
	t := a.env.T
	t.Helper()
	// The log is written behind the answer, in order: what was asked before this is in it when this is.
	marker := "audit-" + random()
	err := a.env.Client.Get(t.Context(), client.ObjectKey{Namespace: a.env.Namespace, Name: marker}, &corev1.ConfigMap{})
	require.NoError(t, client.IgnoreNotFound(err))
	var out []Request
	require.Eventually(t, func() bool {
		found, seen, err := readAudit(a.offset, a.env.agent(), marker, a.since)
		require.NoError(t, err)
		out = found
		return seen
	}, Wait, Tick)
	return out
}

// auditLine is what is read of a line of the log.
type auditLine struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	RequestURI     string `json:"requestURI"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// readAudit reads the log up to the marker and reports whether it was there.
func readAudit(offset int64, agent, marker string, since time.Time) (out []Request, seen bool, err error) {
	f, err := os.Open(server.audit)
	if err != nil {
		return nil, false, fmt.Errorf("open the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, false, fmt.Errorf("read the audit log: %w", err)
	}
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, false, nil // the last line may still be being written
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the audit log: %w", err)
		}
		if bytes.Contains(line, []byte(marker)) {
			return out, true, nil
		}
		if !bytes.Contains(line, []byte(agent)) {
			continue
		}
		var e auditLine
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, false, fmt.Errorf("read the audit log: %w", err)
		}
		// A watch has a line at its beginning and one at its end.
		begins := e.Stage == "ResponseStarted"
		if e.UserAgent != agent || e.Received.Before(since) || (e.Verb == "watch") != begins {
			continue
		}
		out = append(out, Request{
			Verb: e.Verb, Resource: asked(e), Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code, Received: e.Received,
		})
	}
}

func asked(e auditLine) string {
	if e.ObjectRef.Resource == "" {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return path
	}
	if e.ObjectRef.Subresource != "" {
		return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
	}
	return e.ObjectRef.Resource
}

// Tally counts requests by verb and resource.
func Tally(list []Request) map[string]int {
	out := map[string]int{}
	for _, r := range list {
		out[r.String()]++
	}
	return out
}

// Told is a tally in words, the most frequent first.
func Told(tally map[string]int) string {
	var names []string
	for name := range tally {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(tally[b]-tally[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", tally[name], name)
	}
	return strings.Join(names, ", ")
}
