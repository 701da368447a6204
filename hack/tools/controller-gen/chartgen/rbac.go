// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/yaml"
)

// rules is what the chart's templates read. Only rules are generated; names, labels and namespaces are the chart's.
type rules struct {
	// ClusterRole holds what the markers without a namespace ask for.
	ClusterRole []rbacv1.PolicyRule `json:"clusterRole"`
	// Role holds what the markers with `namespace=kopiur-system` ask for: the operator's own namespace, whatever it
	// is called where the chart is installed.
	Role []rbacv1.PolicyRule `json:"role"`
}

func writeRBAC(file string, paths []string) error {
	r, err := generateRBAC(paths)
	if err != nil {
		return err
	}
	body, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(header), body...), 0o644)
}

func generateRBAC(paths []string) (rules, error) {
	out := rules{ClusterRole: []rbacv1.PolicyRule{}, Role: []rbacv1.PolicyRule{}}
	registry := &markers.Registry{}
	if err := registry.Register(rbac.RuleDefinition); err != nil {
		return out, err
	}
	roots, err := loader.LoadRoots(paths...)
	if err != nil {
		return out, fmt.Errorf("load %v: %w", paths, err)
	}
	objs, err := rbac.GenerateRoles(&genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry},
		Roots:     roots,
	}, "kopiur-controller")
	if err != nil {
		return out, err
	}
	if loader.PrintErrors(roots) {
		return out, errors.New("the packages have errors")
	}
	for _, obj := range objs {
		switch role := obj.(type) {
		case rbacv1.ClusterRole:
			out.ClusterRole = append(out.ClusterRole, role.Rules...)
		case rbacv1.Role:
			// Another namespace or role would be silently folded into the operator's own: refuse it.
			if role.Namespace != "kopiur-system" || role.Name != "kopiur-controller" {
				return out, fmt.Errorf("marker for role %s/%s: only namespace=kopiur-system is known", role.Namespace, role.Name)
			}
			out.Role = append(out.Role, role.Rules...)
		default:
			return out, fmt.Errorf("unexpected %T from the rbac markers", obj)
		}
	}
	return out, nil
}
