// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package printer

import (
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// Objects writes objects as JSON, YAML or names, so that kubectl and our own types read them again. One object is
// written as itself, unless list is set; several are a List, as kubectl has it.
func Objects(w io.Writer, format cli.Output, scheme *runtime.Scheme, list bool, objects ...client.Object) error {
	for _, o := range objects {
		if err := Complete(scheme, o); err != nil {
			return err
		}
	}
	if format == cli.Name {
		for _, o := range objects {
			if err := (&printers.NamePrinter{ShortOutput: true}).PrintObj(o, w); err != nil {
				return fmt.Errorf("write the name of %s: %w", o.GetName(), err)
			}
		}
		return nil
	}
	var p printers.ResourcePrinter = &printers.JSONPrinter{}
	if format == cli.YAML {
		p = &printers.YAMLPrinter{}
	}
	if len(objects) == 1 && !list {
		return p.PrintObj(objects[0], w)
	}
	out := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, o := range objects {
		raw, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("write %s: %w", o.GetName(), err)
		}
		out.Items = append(out.Items, runtime.RawExtension{Raw: raw})
	}
	return p.PrintObj(out, w)
}

// Each makes objects of one kind objects of any.
func Each[T client.Object](of []T) []client.Object {
	var out []client.Object
	for _, o := range of {
		out = append(out, o)
	}
	return out
}

// Complete gives an object the kind that typed clients leave out, and takes away what only the API server needs.
func Complete(scheme *runtime.Scheme, o client.Object) error {
	kinds, _, err := scheme.ObjectKinds(o)
	if err != nil {
		return fmt.Errorf("name the kind of %s: %w", o.GetName(), err)
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	o.SetManagedFields(nil)
	return nil
}

// Done writes what became of an object, as kubectl does: "snapshot.kopiur.home-operations.com/data created".
func Done(w io.Writer, scheme *runtime.Scheme, o client.Object, what string) error {
	if err := Complete(scheme, o); err != nil {
		return err
	}
	return (&printers.NamePrinter{Operation: what}).PrintObj(o, w)
}
