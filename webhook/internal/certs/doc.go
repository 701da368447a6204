// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs supplies the certificate that admission is served with: the webhook's own, kept in a Secret, or one that
// somebody else puts into a folder.
//
// The webhook's own certificate authority is renewed without a moment in which an API server trusts less than what is
// served. The order is what sees to that:
//
//	new authority         trusted beside the old one     lead (1 h): every API server has read the new bundle
//	new certificate       signed by the new authority    trail (24 h): replicas that missed it go on with the old one
//	old authority         no longer trusted
//
// Next decides each step from the Secret and the time alone. Keeper carries it out: it writes the Secret under an
// optimistic lock, so that of two replicas one writes and the other reads what was written; tells the configurations; and
// serves a certificate only once they trust it.
package certs
