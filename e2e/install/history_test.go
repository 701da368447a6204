// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/cluster"
)

// Case D-12: a release that moved its CRDs once made helm and Flux remove them, and with them every object of every
// kind. Each chart of testdata/history, as it was packed then, is installed, upgraded to today's, and removed.
func TestD12NoReleaseEverRemovesAnObject(t *testing.T) {
	old, err := filepath.Glob("testdata/history/*.tgz")
	require.NoError(t, err)
	require.NotEmpty(t, old)

	out, err := exec.CommandContext(t.Context(), root+"/hack/tool", "helm").Output()
	require.NoError(t, err)
	helm := strings.TrimSpace(string(out))

	for i, chart := range old {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			// An API server of its own: here the CRDs themselves come and go.
			plane, err := cluster.ControlPlane(t.Context(), cluster.Options{Name: fmt.Sprintf("history-%d-%d", os.Getpid(), i), Progress: os.Stderr})
			require.NoError(t, err)
			defer func() { assert.NoError(t, plane.Down(t.Context())) }()
			run := func(name string, args ...string) string {
				t.Helper()
				out, err := exec.CommandContext(t.Context(), name, append([]string{"--kubeconfig", plane.Kubeconfig()}, args...)...).CombinedOutput()
				require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
				return string(out)
			}
			kubectl := filepath.Join(plane.Assets(), "kubectl")
			identity := func() string {
				t.Helper()
				return run(kubectl, "get", "repositories.kopiur.home-operations.com,snapshots.kopiur.home-operations.com", "-A",
					"-o", "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.deletionTimestamp}{\"\\n\"}{end}")
			}

			run(helm, "install", "kopiur", chart, "--namespace", "kopiur-system", "--create-namespace")
			run(kubectl, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
			run(kubectl, "apply", "-f", "testdata/history/objects.yaml")
			before := identity()
			require.Len(t, strings.Split(strings.TrimSpace(before), "\n"), 2, before)

			run(kubectl, "apply", "--server-side", "--force-conflicts", "-f", root+"/charts/kopiur/crds")
			run(helm, "upgrade", "kopiur", root+"/charts/kopiur", "--namespace", "kopiur-system")
			assert.Equal(t, before, identity(), "after the upgrade")
			run(helm, "uninstall", "kopiur", "--namespace", "kopiur-system")
			assert.Equal(t, before, identity(), "after the release went")
			kept := run(kubectl, "get", "crd", "-o", "jsonpath={range .items[*]}{.metadata.annotations.helm\\.sh/resource-policy}{\"\\n\"}{end}")
			assert.NotContains(t, strings.ReplaceAll(kept, "keep\n", ""), "\n", "a CRD lacks the keep annotation")

			// A second installation finds every record where it was.
			run(helm, "install", "kopiur", root+"/charts/kopiur", "--namespace", "kopiur-system")
			assert.Equal(t, before, identity(), "after a second installation")
		})
	}
}
