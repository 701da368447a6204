// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/webdav"
	"github.com/studio-b12/gowebdav"
)

// WebDAV is a folder of a WebDAV server.
type WebDAV struct {
	URL      string
	Username string
	Password string
}

// String leaves out what may stand before the host: people write passwords there.
func (w *WebDAV) String() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "folder of a WebDAV server"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return "folder " + u.String()
}

func (w *WebDAV) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "webdav", Config: &webdav.Options{URL: w.URL, Username: w.Username, Password: w.Password}}
}

// probe lists the folder itself: even a question makes kopia write .shards where there is none.
func (w *WebDAV) probe(ctx context.Context) (location, error) {
	cli := gowebdav.NewClient(w.URL, w.Username, w.Password)
	cli.SetTransport(contextTransport{ctx})
	entries, err := cli.ReadDir("/")
	if gowebdav.IsErrNotFound(err) {
		return location{}, fmt.Errorf("%w: %w", ErrLocationMissing, err)
	}
	if err != nil {
		return location{}, fmt.Errorf("list: %w", answered(err))
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return Storage{WebDAV: w}.folder(ctx, names)
}

// contextTransport sends the requests of a client that knows of no context.
type contextTransport struct{ ctx context.Context } //nolint:containedctx // see above

func (t contextTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r.WithContext(t.ctx)) //nolint:wrapcheck // the client says of what
}

func (w *WebDAV) address() address {
	u, err := url.Parse(w.URL)
	if err != nil {
		return address{store: "webdav " + w.URL}
	}
	return address{store: "webdav " + strings.ToLower(u.Host), prefix: folderPath(u.Path), folders: true}
}

// folderPath is a path as within compares it.
func folderPath(p string) string { return "/" + strings.Trim(p, "/") }

func (w *WebDAV) clockURL() string { return w.URL }
