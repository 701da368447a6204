// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire plays a kubelet that runs a command, over the real protocol. Tests use it.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // client-go asks for these very types
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // client-go asks for these very types
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// pieces are as large as those that a kubelet passes on.
const pieces = 32 << 10

// Command is what the command does.
type Command struct {
	Stdout, Stderr []byte
	// End is its exit status. Without one the streams end as if it had succeeded, and no status comes.
	End *metav1.Status
	// Cut ends the connection at once after the output: a node that is no more.
	Cut bool
	// Served, where it is set, is closed once everything is sent and the connection is closed on this side.
	Served chan struct{}
}

// Exit is the status of a command that ends with an exit code.
func Exit(code int) *metav1.Status {
	if code == 0 {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	return &metav1.Status{
		Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: "command terminated",
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
	}
}

// Serve answers one request to run a command that has stdout and stderr and no stdin.
func Serve(w http.ResponseWriter, r *http.Request, c Command) error {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return fmt.Errorf("agree on a protocol: %w", err)
	}
	const three = 3 // what we are told at the end, what it writes, and what it complains of
	arrived := make(chan httpstream.Stream, three)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		arrived <- s
		return nil
	})
	if conn == nil {
		return errors.New("take over the connection: not upgraded")
	}
	defer conn.Close()
	streams := map[string]httpstream.Stream{}
	for range three {
		select {
		case s := <-arrived:
			streams[s.Headers().Get(corev1.StreamType)] = s
		case <-conn.CloseChan():
			return errors.New("wait for the streams: the connection ended")
		}
	}
	for piece := range slices.Chunk(c.Stdout, pieces) {
		if _, err := streams[corev1.StreamTypeStdout].Write(piece); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	_, _ = streams[corev1.StreamTypeStderr].Write(c.Stderr)
	if c.Cut {
		return nil
	}
	if c.End != nil {
		b, err := json.Marshal(c.End)
		if err != nil {
			return fmt.Errorf("encode the exit status: %w", err)
		}
		_, _ = streams[corev1.StreamTypeError].Write(b)
	}
	for _, s := range streams {
		_ = s.Close()
	}
	if c.Served == nil {
		<-conn.CloseChan() // the client has read all of it
		return nil
	}
	// As a kubelet does, which does not wait for anybody to read.
	err := conn.Close()
	close(c.Served)
	return err //nolint:wrapcheck // nothing to add
}
