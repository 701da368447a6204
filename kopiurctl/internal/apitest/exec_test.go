// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // API server and kubelet speak these very types
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // API server and kubelet speak these very types
)

// ran is what a program that was run in a pod has written, and whether its node died before it said more.
type ran struct {
	stdout bytes.Buffer
	stderr string
	cut    bool
}

// program is what every program in a pod does.
type program func(argv []string) *ran

// runs sets what programs in a pod do.
func (k *kubelet) runs(pod string, p program) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.programs[pod] = p
}

// exec is how a kubelet runs a program: it tells the streams of one connection apart by their headers, and what is written on
// that for errors is how the program ended.
func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	run := k.programs[r.PathValue("pod")]
	k.mu.Unlock()
	if run == nil {
		http.Error(w, "the container does not run", http.StatusNotFound)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	arrived := make(chan httpstream.Stream, 3) // for output, complaints and the end
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		arrived <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	of := map[string]httpstream.Stream{}
	for len(of) < cap(arrived) {
		select {
		case s := <-arrived:
			of[s.Headers().Get(corev1.StreamType)] = s
		case <-conn.CloseChan():
			return
		}
	}
	did := run(r.URL.Query()["command"])
	_, _ = did.stdout.WriteTo(of[corev1.StreamTypeStdout])
	_, _ = of[corev1.StreamTypeStderr].Write([]byte(did.stderr))
	if did.cut {
		return
	}
	if b, err := json.Marshal(metav1.Status{Status: metav1.StatusSuccess}); err == nil {
		_, _ = of[corev1.StreamTypeError].Write(b)
	}
	for _, s := range of {
		_ = s.Close()
	}
	<-conn.CloseChan() // all of it was read
}
