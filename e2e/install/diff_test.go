// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// object is what these tests need to know of a manifest.
type object map[string]any

func (o object) metadata() map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// manifests reads every document of every file. Each gets a name and namespace of its own: the corpus has the same names
// again and again, as people do, and here all of it lies in one cluster.
func manifests(t *testing.T, ns, glob string) []object {
	t.Helper()
	var all []object
	files, err := filepath.Glob(glob)
	require.NoError(t, err)
	require.NotEmpty(t, files, glob)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, doc := range bytes.Split(raw, []byte("\n---")) {
			var o object
			require.NoError(t, yaml.Unmarshal(doc, &o), "%s, document %d", file, i+1)
			if o["kind"] == nil || o["apiVersion"] != "kopiur.home-operations.com/v1alpha1" {
				continue
			}
			o.metadata()["name"] = fmt.Sprintf("m%03d-%s", len(all), ns)
			delete(o.metadata(), "namespace")
			if o["kind"] != "ClusterRepository" {
				o.metadata()["namespace"] = ns
			}
			all = append(all, o)
		}
	}
	return all
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, e := range v {
			if hasNull(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}

func write(t *testing.T, objects []object) string {
	t.Helper()
	items := make([]any, len(objects))
	for i, o := range objects {
		items[i] = o
	}
	raw, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "all.json")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	return file
}

// spelledOut is what the API server stored of the objects, as an exporter writes it back into Git: with every default.
func spelledOut(t *testing.T, file string) []object {
	t.Helper()
	var list struct{ Items []object }
	require.NoError(t, json.Unmarshal([]byte(must(t, "", "get", "-f", file, "-o", "json")), &list))
	for _, o := range list.Items {
		delete(o, "status")
		kept := object{"metadata": map[string]any{}}
		for _, field := range []string{"name", "generateName", "namespace", "labels", "annotations"} {
			if v, ok := o.metadata()[field]; ok {
				kept.metadata()[field] = v
			}
		}
		if annotations, ok := kept.metadata()["annotations"].(map[string]any); ok {
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		}
		o["metadata"] = kept["metadata"]
	}
	return list.Items
}

// emptied reports whether short has an empty section in the place of one that is not.
func emptied(short, full any) bool {
	switch s := short.(type) {
	case map[string]any:
		f, ok := full.(map[string]any)
		if !ok {
			return false
		}
		if len(s) == 0 && len(f) > 0 {
			return true
		}
		for key, value := range s {
			if emptied(value, f[key]) {
				return true
			}
		}
	case []any:
		f, ok := full.([]any)
		for i := range s {
			if ok && i < len(f) && emptied(s[i], f[i]) {
				return true
			}
		}
	}
	return false
}

// Budget A3 and case I-7: what GitOps tools compare is what a second apply would change, for manifests that leave defaults
// out and for those that write them down. Flux applies on the server, as kustomize-controller; Argo CD applies on the
// client or on the server, and compares with a dry run on the server.
func TestI7AppliedManifestsShowNoDifference(t *testing.T) {
	applyCRDs(t)
	flux := []string{"--server-side", "--force-conflicts", "--field-manager=kustomize-controller"}
	argo := []string{"--server-side", "--force-conflicts", "--field-manager=argocd-controller"}
	for _, way := range []struct {
		name        string
		apply, diff []string
		// nulls says whether manifests with a null in them are compared. A client drops it when it creates, so that a server
		// which then hears of it sees a change.
		nulls bool
	}{
		{"Flux applies on the server", flux, flux, true},
		{"Argo CD applies on the server", argo, argo, true},
		{"Argo CD applies on the client and compares on the server", []string{"--field-manager=argocd-controller"}, argo, false},
		{"kubectl applies and compares on the client", nil, nil, true},
	} {
		t.Run(way.name, func(t *testing.T) {
			ns := namespace(t)
			short := manifests(t, ns, root+"/apis/validation/testdata/corpus/good/*.yaml")
			if !way.nulls {
				short = slices.DeleteFunc(short, func(o object) bool { return hasNull(map[string]any(o)) })
			}
			none := func(file string) {
				t.Helper()
				out, err := try(t, "", append([]string{"diff", "-f", file}, way.diff...)...)
				require.NoError(t, err, out)
			}
			apply := func(file string) {
				t.Helper()
				must(t, "", append([]string{"apply", "-f", file}, way.apply...)...)
			}
			file := write(t, short)
			// Also what a failed apply leaves: others count the objects of this server.
			defer must(t, "", "delete", "--wait=false", "--ignore-not-found", "-f", file)
			apply(file)
			none(file)

			full := spelledOut(t, file)
			assert.Len(t, full, len(short))
			stated := write(t, full)
			none(stated)
			apply(stated)
			none(stated)
			// Back to the short form. Where that has an empty section whose defaults the manager has just written down, a
			// server-side apply makes null of it and refuses it, in every custom resource.
			var back []object
			for i, o := range short {
				if !emptied(o["spec"], full[i]["spec"]) {
					back = append(back, o)
				}
			}
			none(write(t, back))
			t.Logf("A3  %d manifests, with and without their defaults: no difference", len(short))
		})
	}
}
