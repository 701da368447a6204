// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/http/httputil"
	"path"
	"slices"
	"strings"
)

// credentials reads who may come in; nil lets everybody.
type credentials func() (username, password string, err error)

// gate stands before kopia's server. Kopia's interface is made for a person's own machine: whoever uses it may snapshot
// any folder, restore into any, and connect to any repository, as the server's user. In a pod that is the folder with
// the repository's own credentials, and a network that the person has no business in. So the gate lets through what is
// about this one repository, and nothing else.
type gate struct {
	who      credentials
	readOnly bool
	behind   http.Handler
	dial     func(ctx context.Context) error
}

func newGate(who credentials, readOnly bool, socket string) http.Handler {
	dial := func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", socket) }
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "kopia"
			r.Out.Header.Del("Authorization") // it has been looked at
		},
		Transport:      &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }, MaxIdleConns: 16},
		ModifyResponse: harden,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "kopia's server does not answer", http.StatusBadGateway)
		},
	}
	return &gate{who: who, readOnly: readOnly, behind: proxy, dial: func(ctx context.Context) error {
		c, err := dial(ctx)
		if err == nil {
			err = c.Close()
		}
		return err
	}}
}

// healthPath answers probes, who have no password.
const healthPath = "/healthz"

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == healthPath {
		if err := g.dial(r.Context()); err != nil {
			http.Error(w, "kopia's server does not answer", http.StatusServiceUnavailable)
		}
		return
	}
	if !g.admits(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="Kopiur", charset="UTF-8"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if !g.allows(r) {
		http.Error(w, "this is not possible here", http.StatusForbidden)
		return
	}
	if r.URL.Path == listPath && r.Method == http.MethodGet {
		http.Redirect(w, r, "/", http.StatusFound)
		return
	}
	g.behind.ServeHTTP(w, r)
}

// listPath is the page with the list of backups, as a bookmark and a reload ask for it. Opened directly it does not wait
// for the preferences, and lists those of the interface's own user, of which there are none; from the start page it does.
const listPath = "/snapshots"

// admits compares digests: neither the content nor the length of what is right shows in the time it takes.
func (g *gate) admits(r *http.Request) bool {
	if g.who == nil {
		return true
	}
	username, password, err := g.who()
	if err != nil {
		return false
	}
	gotName, gotPassword, ok := r.BasicAuth()
	return ok && same(gotName, username)&same(gotPassword, password) == 1
}

func same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}

const api = "/api/v1/"

// changes are the requests other than reading that are about this repository.
var changes = map[string][]string{
	http.MethodPost:   {"snapshots/delete", "snapshots/edit"},
	http.MethodPut:    {"policy", "repo/throttle"},
	http.MethodDelete: {"policy"},
}

// harmless are the requests other than reading that change nothing in the repository. A sync is the button that looks
// for what has been stored since.
var harmless = map[string][]string{
	http.MethodPost: {"policy/resolve", "repo/sync", "refresh"},
	http.MethodPut:  {"ui-preferences"},
}

// unread is what is not to be read either.
var unread = []string{"control", "mounts", "notificationProfiles"}

// allows decides by method and path alone.
func (g *gate) allows(r *http.Request) bool {
	p := r.URL.Path
	if path.Clean(p) != p && path.Clean(p)+"/" != p {
		return false // kopia would clean it, and it would be another one then
	}
	rest, isAPI := strings.CutPrefix(p, api)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		first, _, _ := strings.Cut(rest, "/")
		return p != "/metrics" && (!isAPI || !slices.Contains(unread, first))
	}
	if !isAPI {
		return false
	}
	if slices.Contains(harmless[r.Method], rest) {
		return true
	}
	if task, ok := strings.CutSuffix(rest, "/cancel"); ok && r.Method == http.MethodPost && strings.HasPrefix(task, "tasks/") {
		return true
	}
	return !g.readOnly && slices.Contains(changes[r.Method], rest)
}

// harden keeps what is stored in a backup from acting as a page of the interface: a file may well be HTML.
func harden(r *http.Response) error {
	h := r.Header
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	if strings.HasPrefix(r.Request.URL.Path, api+"objects/") {
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	}
	return nil
}
