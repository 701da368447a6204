// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build permissions

package permissions_test

// unseenOfController are rights that no API test is sure to use: each with what uses it.
var unseenOfController = map[string]string{
	"create pods/exec": "a command in a pod is asked for with GET, for which the API server wants this right as well; and the helpers of " +
		"streams are granted it, which nobody may who does not hold it: e2e/specs, hooks and streams",
	"get rolebindings.rbac.authorization.k8s.io": "a controller that was killed between the RoleBinding of a stream and its Job finds it there: " +
		"the long form of the tests that kill after every write",
}

// unseenOfWebhook are the webhook's.
var unseenOfWebhook = map[string]string{}
