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
