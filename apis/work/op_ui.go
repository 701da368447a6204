// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// UI serves kopia's web interface. It is done by the program ui, not by the mover, and ends when it is told to.
type UI struct {
	// Listen is host:port; empty means DefaultUIListen. The pod speaks HTTP.
	Listen string `json:"listen,omitempty"`
	// ReadOnly opens the repository read-only: nothing can be changed, whoever asks.
	ReadOnly bool `json:"readOnly,omitempty"`
	// UsernameKey and PasswordKey are file names below UIAuthDir.
	UsernameKey string `json:"usernameKey,omitempty"`
	PasswordKey string `json:"passwordKey,omitempty"`
	// AcknowledgeInsecure serves everyone who reaches the port, without a question. Without it both keys must be there.
	AcknowledgeInsecure bool `json:"acknowledgeInsecure,omitempty"`
	// Title is shown before the page's own.
	Title string `json:"title,omitempty"`
}

// DefaultUIListen is every address of the pod at the port of kopia's server.
const DefaultUIListen = ":51515"
