// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/cluster"
)

// root of the checkout, from this package's folder, which is where go test runs it.
const root = "../.."

var kubeconfig, kubectl string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "needs an API server: left out with -short")
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run uses the control plane that make test started, or one of its own.
func run(m *testing.M) int {
	kubeconfig = os.Getenv("KOPIUR_TEST_KUBECONFIG")
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if kubeconfig == "" {
		ctx := context.Background()
		c, err := cluster.ControlPlane(ctx, cluster.Options{Name: fmt.Sprintf("install-%d", os.Getpid()), Progress: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, "start a control plane:", err)
			return 1
		}
		defer func() {
			if err := c.Down(ctx); err != nil {
				fmt.Fprintln(os.Stderr, "end the control plane:", err)
			}
		}()
		kubeconfig, assets = c.Kubeconfig(), c.Assets()
	}
	kubectl = filepath.Join(assets, "kubectl")
	return m.Run()
}

// try runs kubectl and returns all it printed.
func try(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := try(t, stdin, args...)
	require.NoError(t, err, "kubectl %s\n%s\n%s", strings.Join(args, " "), out, stdin)
	return out
}

// applyCRDs makes the kinds known. Server-side and under one name: other packages do the same to the same API server.
func applyCRDs(t *testing.T) {
	t.Helper()
	must(t, "", "apply", "--server-side", "--force-conflicts", "--field-manager=kopiur-tests", "-f", root+"/charts/kopiur/crds")
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "-f", root+"/charts/kopiur/crds")
}

// namespace of its own for a test.
func namespace(t *testing.T) string {
	t.Helper()
	name := strings.TrimPrefix(must(t, "", "create", "-o", "name", "-f", writeNamespace(t)), "namespace/")
	return strings.TrimSpace(name)
}

func writeNamespace(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "namespace.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: install-}\n"), 0o600))
	return file
}

// Budget A2 and case E-12: the whole object goes into an annotation of at most 262,144 bytes.
func TestE12EveryCRDFitsAClientSideApply(t *testing.T) {
	files, err := filepath.Glob(root + "/charts/kopiur/crds/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			// Under another group, so that it does not fight with who else applies them here.
			renamed := strings.ReplaceAll(string(raw), "kopiur.home-operations.com", "e12.example.com")
			// The API server guards *.k8s.io groups only; ours needs no approval.
			must(t, renamed, "apply", "-f", "-")
			must(t, renamed, "apply", "-f", "-")
			t.Logf("A2  %s: applied twice on the client", filepath.Base(file))
			must(t, renamed, "delete", "-f", "-")
		})
	}
}

// exampleNamespaces makes those that examples and docs put their objects into.
func exampleNamespaces(t *testing.T) {
	t.Helper()
	for _, name := range []string{"shop", "backup", "kopiur-system"} {
		if out, err := try(t, "", "create", "namespace", name); err != nil {
			require.Contains(t, out, "AlreadyExists")
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Every example in the docs is one that the API server accepts.
func TestDocsExamplesApply(t *testing.T) {
	applyCRDs(t)
	files := []string{root + "/README.md"}
	require.NoError(t, filepath.WalkDir(root+"/docs", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") && err == nil {
			files = append(files, path)
		}
		return err
	}))
	exampleNamespaces(t)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, block := range yamlBlock.FindAllStringSubmatch(string(raw), -1) {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimPrefix(file, root+"/"), i+1), func(t *testing.T) {
				must(t, block[1], "apply", "--server-side", "--dry-run=server", "-f", "-")
			})
		}
	}
}

// Every example applies as it stands, strictly: an unknown field would be dropped without a word by a lenient server.
func TestExamplesApply(t *testing.T) {
	applyCRDs(t)
	exampleNamespaces(t)
	files, err := filepath.Glob(root + "/docs/examples/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	index, err := os.ReadFile(root + "/docs/examples/README.md")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimPrefix(file, root+"/docs/examples/")
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, string(index), "("+name+")", "the index has no link to it")
			out := must(t, "", "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file)
			assert.NotContains(t, out, "Warning")
		})
	}
}

// The goldens say what the chart renders; this says that an API server takes it.
func TestRenderedChartApplies(t *testing.T) {
	if out, err := try(t, "", "create", "namespace", "kopiur-system"); err != nil {
		require.Contains(t, out, "AlreadyExists")
	}
	files, err := filepath.Glob(root + "/charts/kopiur/tests/golden/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			out := must(t, withoutOthers(string(raw)), "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
			assert.NotContains(t, out, "Warning")
		})
	}
}

// withoutOthers drops objects of kinds that cert-manager and the Prometheus operator bring.
func withoutOthers(manifests string) string {
	var kept []string
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		if !strings.Contains(doc, "apiVersion: cert-manager.io/") && !strings.Contains(doc, "apiVersion: monitoring.coreos.com/") {
			kept = append(kept, doc)
		}
	}
	return strings.Join(kept, "\n---\n")
}
