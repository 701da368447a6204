// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/azure"
)

// DefaultAzureDomain is used where a backend names none.
const DefaultAzureDomain = "blob.core.windows.net"

// Azure is a container of an account, or the part of it below Prefix.
type Azure struct {
	Container string
	// Prefix goes to kopia byte for byte.
	Prefix  string
	Account string
	Domain  string

	// Exactly one of these: a key, a token, or what the cloud projected into the pod.
	Key       string
	SASToken  string
	TenantID  string
	ClientID  string
	TokenFile string
}

func (a *Azure) host() string { return a.Account + "." + or(a.Domain, DefaultAzureDomain) }

func (a *Azure) String() string {
	return "container " + below(a.Container, a.Prefix) + " at " + a.host()
}

func (a *Azure) connectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: "azureBlob", Config: &azure.Options{
		Container: a.Container, Prefix: a.Prefix, StorageAccount: a.Account, StorageDomain: a.Domain,
		StorageKey: a.Key, SASToken: a.SASToken,
		TenantID: a.TenantID, ClientID: a.ClientID, AzureFederatedTokenFile: a.TokenFile,
	}}
}

func (a *Azure) probe(ctx context.Context) (location, error) {
	return probeObjects(ctx, Storage{Azure: a})
}

func (a *Azure) address() address {
	return address{store: "azure " + a.host() + " " + a.Container, prefix: a.Prefix}
}

func (a *Azure) clockURL() string { return "https://" + a.host() + "/" }
