// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build permissions

// Package permissions_test looks at what all other API tests have asked of the API server. It runs after them, on the same
// control plane (hack/test.sh), and holds the roles that the chart ships against it.
package permissions_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestEveryPermissionIsUsed (acceptance F-11): the tests run under the shipped roles and nothing else, so what is missing
// fails them. What nothing has asked for fails here, unless it is known why: a right that is not needed is one more that
// somebody else can use.
func TestEveryPermissionIsUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files []string
		// users begin like this.
		users string
		// unseen are granted and not sure to be asked for by these tests, each with what does.
		unseen map[string]string
	}{
		"controller": {[]string{"rbac.yaml", "projection-rbac.yaml", "server-rbac.yaml"}, "kopiur-test-", unseenOfController},
		"webhook":    {[]string{"webhook-rbac.yaml", "webhook-tls-rbac.yaml"}, "hook-", unseenOfWebhook},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			used := asked(t, tc.users)
			require.NotEmpty(t, used, "nothing was asked: run this after the API tests, on their control plane")
			allowed := granted(t, tc.files...)
			for _, p := range allowed {
				if _, known := tc.unseen[p]; !known && !used[p] && !covered(p, used) {
					assert.Fail(t, "nothing has asked for this right: "+p,
						"take it out of the +kubebuilder:rbac marker that grants it and run make generate, or test what needs it; "+
							"if these tests cannot be sure to use it, say what does in unseen_test.go")
				}
			}
			for p := range tc.unseen {
				assert.Contains(t, allowed, p, "it is not granted any more: take it out of the list")
			}
		})
	}
}

// covered reports whether a right to read adds nothing to another one that is used: whoever watches all objects of a kind
// has read each of them. An informer that watches here lists on an API server that does not stream what there is.
func covered(p string, used map[string]bool) bool {
	verb, what, _ := strings.Cut(p, " ")
	switch verb {
	case "get":
		return used["list "+what] || used["watch "+what]
	case "list":
		return used["watch "+what]
	default:
		return false
	}
}

// granted is what the files grant, as "verb resource.group".
func granted(t *testing.T, files ...string) []string {
	t.Helper()
	var out []string
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "charts", "kopiur", "files", name))
		require.NoError(t, err)
		var rules struct{ ClusterRole, Role []rbacv1.PolicyRule }
		require.NoError(t, yaml.Unmarshal(b, &rules))
		for _, r := range slices.Concat(rules.ClusterRole, rules.Role) {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						out = append(out, permission(verb, resource, group))
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func permission(verb, resource, group string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// asked is what users of these names were let do, by the audit log of the whole run.
func asked(t *testing.T, users string) map[string]bool {
	t.Helper()
	path := os.Getenv("KOPIUR_TEST_AUDIT_LOG")
	require.NotEmpty(t, path, "the audit log of the API tests is not known: set KOPIUR_TEST_AUDIT_LOG")
	f, err := os.Open(filepath.Clean(path))
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	out, marker := map[string]bool{}, []byte(`"impersonatedUser":{"username":"`+users)
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if !bytes.Contains(line, marker) {
			continue
		}
		var e struct {
			Verb      string
			ObjectRef struct{ APIGroup, Resource, Subresource string }
			// A watch has a line at its beginning and none of these at its end, where it was ended by the client.
			ResponseStatus struct{ Code int }
		}
		require.NoError(t, json.Unmarshal(line, &e))
		if e.ObjectRef.Resource == "" || e.ResponseStatus.Code == 403 {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		out[permission(e.Verb, resource, e.ObjectRef.APIGroup)] = true
	}
}
