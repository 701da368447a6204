// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reader reads some fields of a Box.
package reader

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/hack/tools/controller-gen/chartgen/testdata/sample"
)

type label struct {
	Name string `json:"name"`
}

// Read reads the size, and a lid by converting it. It writes the toleration, which is no reading.
func Read(b sample.BoxSpec) (int32, []string) {
	var names []string
	for _, lid := range b.Lids {
		names = append(names, label(lid).Name)
	}
	_ = sample.BoxSpec{Toleration: corev1.Toleration{}}
	return b.Size, names
}
