// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// keep makes helm leave a CRD in place when the release goes, and Argo CD when an Application is pruned: removing a
// CRD removes every object of its kind, which here means every record of a backup.
var keep = map[string]string{
	"helm.sh/resource-policy":         "keep",
	"argocd.argoproj.io/sync-options": "Prune=false",
}

func writeCRDs(dir, own string, paths []string) error {
	crds, err := generateCRDs(own, paths)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range crds {
		doc, err := render(c)
		if err != nil {
			return fmt.Errorf("render %s: %w", c.Name, err)
		}
		name := fmt.Sprintf("%s_%s.yaml", c.Spec.Group, c.Spec.Names.Plural)
		if err := os.WriteFile(filepath.Join(dir, name), doc, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generateCRDs returns the CRDs of the packages' kinds, sorted by kind. Texts below types outside own are dropped: a
// pod's affinity or resources explain themselves in the Kubernetes reference, and repeated in eight CRDs they push
// the bundle over what a client-side apply can annotate.
func generateCRDs(own string, paths []string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, err
	}
	roots, err := loader.LoadRoots(paths...)
	if err != nil {
		return nil, fmt.Errorf("load %v: %w", paths, err)
	}
	parser := &crd.Parser{
		Collector: &markers.Collector{Registry: registry},
		// The filter keeps the checker to the types that schemas are made of; bodies and imports stay unread.
		Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}},
	}
	crd.AddKnownTypes(parser)
	for _, root := range roots {
		parser.NeedPackage(root)
	}
	var kinds []schema.GroupKind
	if meta := crd.FindMetav1(roots); meta != nil {
		kinds = crd.FindKubeKinds(parser, meta)
	}

	// First every schema, then the texts, then the CRDs: flattening copies a type's schema into its users, so a text
	// must be gone before the first CRD asks for it.
	for _, kind := range kinds {
		for pkg, gv := range parser.GroupVersions {
			ident := crd.TypeIdent{Package: pkg, Name: kind.Kind}
			if gv.Group == kind.Group && parser.Types[ident] != nil {
				parser.NeedSchemaFor(ident)
			}
		}
	}
	for ident, s := range parser.Schemata {
		if !strings.HasPrefix(ident.Package.PkgPath, own) {
			crd.EditSchema(&s, undescribed{})
			parser.Schemata[ident] = s
		}
	}

	var out []apiextensionsv1.CustomResourceDefinition
	for _, kind := range kinds {
		parser.NeedCRDFor(kind, nil)
		c := parser.CustomResourceDefinitions[kind]
		crd.FixTopLevelMetadata(c)
		for i := range c.Spec.Versions {
			root := c.Spec.Versions[i].Schema.OpenAPIV3Schema
			if spec, ok := root.Properties["spec"]; ok {
				letNullBeAbsent(&spec)
				root.Properties["spec"] = spec
			}
		}
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		maps.Copy(c.Annotations, keep)
		out = append(out, c)
	}
	// Type errors are no errors here: filtered packages are incomplete on purpose, and the deepcopy methods may not
	// have been generated yet.
	if loader.PrintErrors(roots, packages.TypeError) {
		return nil, errors.New("the packages have errors")
	}
	return out, nil
}

// undescribed is a schema visitor that removes every text it meets.
type undescribed struct{}

func (undescribed) Visit(s *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if s != nil {
		s.Description = ""
	}
	return undescribed{}
}

// letNullBeAbsent lets the optional fields of a spec be null, which is what a template leaves behind whose value is empty.
// Create and client-side apply drop such a null by themselves; a server-side apply, which is how Flux works, refuses it
// unless the schema allows it. Left alone are
//   - fields with a default, where a null becomes the default either way,
//   - words from a list, for which the API server takes no null whatever the schema says,
//   - objects that may be empty, if a default lies below them or they are a variant of a union: where an apply takes back
//     the last field of an object that may be null, a null stays in its place, which keeps the default away or chooses
//     no variant at all,
//   - fields of types that are not ours, which have no text any more.
func letNullBeAbsent(s *apiextensionsv1.JSONSchemaProps) {
	for name, p := range s.Properties {
		variant := slices.ContainsFunc(s.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			_, names, ok := strings.Cut(r.Message, "exactly one of ")
			return ok && strings.Contains(names, name)
		})
		letNullBeAbsent(&p)
		free := p.Description != "" && p.Default == nil && len(p.Enum) == 0 && !slices.Contains(s.Required, name)
		if p.Type == "object" && len(p.Required) == 0 && (variant || defaultBelow(&p)) {
			free = false
		}
		p.Nullable = free
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		letNullBeAbsent(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		letNullBeAbsent(s.AdditionalProperties.Schema)
	}
}

func defaultBelow(s *apiextensionsv1.JSONSchemaProps) bool {
	for _, p := range s.Properties {
		if p.Default != nil || defaultBelow(&p) {
			return true
		}
	}
	return false
}

func render(c apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	// The API server owns the status; an empty one in the file would be a difference for ever.
	delete(doc, "status")
	body, err := compact(doc)
	if err != nil {
		return nil, err
	}
	return append([]byte(header), body...), nil
}

const header = "# Code generated by make generate. DO NOT EDIT.\n"
