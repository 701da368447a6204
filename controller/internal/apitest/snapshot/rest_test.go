// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// wire is what a controller asked of the API server, watches aside.
type wire struct {
	next http.RoundTripper

	mu   sync.Mutex
	urls []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") == "" {
		w.mu.Lock()
		w.urls = append(w.urls, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r) //nolint:wrapcheck // passed on as it is
}

func (w *wire) since(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.urls[n:]...)
}

// E-4: looking at a finished Snapshot again costs no request, however it ended, while its Job is still there.
func TestFinishedSnapshotsCostNothingE4(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		play   func(testenv.Call) testenv.Play
		kind   string
		reason string
	}{
		"stored": {testenv.Succeed, kopiurv1.ConditionReady, kopiurv1.ReasonSnapshotSucceeded},
		"failed": {func(c testenv.Call) testenv.Play { return testenv.Fail(c, work.CodeAuthFailure, "wrong password") }, kopiurv1.ConditionStalled, kopiurv1.ReasonSnapshotFailed},
		"lost": {func(c testenv.Call) testenv.Play {
			p := testenv.Succeed(c)
			p.PodGone = true
			return p
		}, kopiurv1.ConditionStalled, string(work.CodeLost)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			w := &wire{}
			l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play { return tc.play(c) })
			l.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				w.next = next
				return w
			})
			l.create()
			l.StartController()
			l.waits(tc.kind, metav1.ConditionTrue, tc.reason)
			l.settled()
			l.Quiet(l.snapshot, time.Second)
			before := len(w.since(0))
			l.Touch(l.snapshot)
			l.Get(l.snapshot)
			l.Quiet(l.snapshot, 2*time.Second)
			assert.Empty(t, w.since(before))
		})
	}
}
