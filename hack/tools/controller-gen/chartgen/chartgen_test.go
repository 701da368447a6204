// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "./testdata/sample"

func TestCRDsKeepOurTextsAndDropTheOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeCRDs(dir, "github.com/kopiur/kopiur/", []string{sample}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "sample.example.com_boxes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for _, want := range []string{
		"spec is described by us.", "toleration is ours, what is in it is not.", "tolerationSeconds:",
		"helm.sh/resource-policy: keep", "argocd.argoproj.io/sync-options: Prune=false",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the CRD lacks %q", want)
		}
	}
	for _, unwanted := range []string{"taint", "APIVersion defines", "\nstatus:"} {
		if strings.Contains(doc, unwanted) {
			t.Errorf("the CRD has %q", unwanted)
		}
	}
}

func TestReferenceSaysWhatTheCRDsSay(t *testing.T) {
	t.Parallel()
	crds, out := t.TempDir(), t.TempDir()
	if err := writeCRDs(crds, "github.com/kopiur/kopiur/", []string{sample}); err != nil {
		t.Fatal(err)
	}
	if err := writeReference(out, crds); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(out, "box.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, want := range []string{
		"# Box\n", "## spec\n", "| `toleration` | object |", "toleration is ours, what is in it is not.",
		"| `size` \\* | integer | `3` | size has bounds. One of", "(min 1, max 9)", "Rule: size must be odd.",
		"| `lids[].name` \\* | string |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "tolerationSeconds") {
		t.Error("the page opens a type of Kubernetes itself")
	}
	index, err := os.ReadFile(filepath.Join(out, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(index), "[Box](box.md)") {
		t.Errorf("the index lacks the page: %s", index)
	}
}

func TestConditionsRefuseAWordWithoutAnExplanation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package p\n"+body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("conditions.go", "// Conditions of boxes.\nconst (\n\t// ConditionFull: nothing fits.\n\tConditionFull = \"Full\"\n)\n")
	write("lid_reasons.go", "// Reasons of lids.\nconst (\n\t// ReasonAjar is set in wind. Shut it.\n\tReasonAjar = \"Ajar\"\n)\n")
	write("reasons.go", "// Reasons of boxes.\nconst (\n\t// ReasonWet is set in rain. Dry it.\n\tReasonWet = \"Wet\"\n)\n")
	out := filepath.Join(dir, "conditions.md")
	if err := writeConditions(out, dir); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| `Ajar` | is set in wind. Shut it. |", "| `Full` | nothing fits. |", "| `Wet` | is set in rain. Dry it. |"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page lacks %q:\n%s", want, raw)
		}
	}
	write("reasons.go", "const (\n\tReasonWet = \"Wet\"\n)\n")
	if err := writeConditions(out, dir); err == nil || !strings.Contains(err.Error(), "ReasonWet") {
		t.Errorf("want a refusal that names the constant, got %v", err)
	}
}

func TestRBACSplitsClusterAndOwnNamespace(t *testing.T) {
	t.Parallel()
	got, err := generateRBAC([]string{sample})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.ClusterRole) != 1 || got.ClusterRole[0].Resources[0] != "jobs" {
		t.Errorf("cluster role: %+v", got.ClusterRole)
	}
	if len(got.Role) != 1 || got.Role[0].Resources[0] != "leases" {
		t.Errorf("role: %+v", got.Role)
	}
}

func TestAFieldThatNothingReadsIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, body string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const api = "github.com/kopiur/kopiur/hack/tools/controller-gen/chartgen/testdata/sample"
	none := file("none", "")
	fields, err := readFields(api, []string{"./testdata/reader"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(page, accounted string) error { return fields.check(io.Discard, page, accounted) }
	err = check(none, none)
	if err == nil || !strings.Contains(err.Error(), "Box spec.toleration") || strings.Contains(err.Error(), "spec.size") || strings.Contains(err.Error(), "spec.lids") {
		t.Errorf("want spec.toleration alone, got %v", err)
	}
	if err := check(file("page", "| Box | `spec.toleration` | warning | nothing |\n"), none); err != nil {
		t.Errorf("the page lists it: %v", err)
	}
	if err := check(file("kinds", "| Box | nothing is done |\n"), none); err != nil {
		t.Errorf("the page lists its kind: %v", err)
	}
	if err := check(none, file("elsewhere", "# why\nBox spec.toleration admission reads it\n")); err != nil {
		t.Errorf("it is read elsewhere: %v", err)
	}
	if err := check(none, file("short", "Box spec.toleration\n")); err == nil {
		t.Error("a line without a reason is taken")
	}
}

func TestSizesRefuseALargeCRD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := "description: " + strings.Repeat("x", maxOne) + "\n"
	if err := os.WriteFile(filepath.Join(dir, "big.yaml"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	err := checkSizes(io.Discard, dir)
	if err == nil || !strings.Contains(err.Error(), "big.yaml") {
		t.Errorf("want a refusal that names the file, got %v", err)
	}
}
