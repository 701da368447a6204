// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// Get reads one object. Where there is none of the name, the error says what may have been meant.
func Get(ctx context.Context, c client.Client, key client.ObjectKey, obj client.Object, kind string, list client.ObjectList) error {
	err := c.Get(ctx, key, obj)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && !cli.NotInstalled(err):
		return Missing(ctx, c, key, kind, list)
	default:
		return fmt.Errorf("read %s %s: %w", kind, key.Name, err)
	}
}

// Missing is the error about a name that does not exist, with the nearest one of its namespace, or the namespace that
// has it.
func Missing(ctx context.Context, c client.Client, key client.ObjectKey, kind string, list client.ObjectList) error {
	where := ""
	if key.Namespace != "" {
		where = " in namespace " + key.Namespace
	}
	text := fmt.Sprintf("there is no %s %s%s", kind, key.Name, where)
	if hint := hint(ctx, c, key, list); hint != "" {
		text += ": " + hint
	}
	return cli.NotFoundf("%s", text)
}

// hint looks around. Whoever may not list gets none.
func hint(ctx context.Context, c client.Client, key client.ObjectKey, list client.ObjectList) string {
	names, err := Names(ctx, c, key.Namespace, list)
	if err != nil {
		return ""
	}
	if near := validation.Nearest(key.Name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if key.Namespace != "" {
		if err := c.List(ctx, list); err == nil {
			var elsewhere []string
			_ = each(list, func(o client.Object) {
				if o.GetName() == key.Name {
					elsewhere = append(elsewhere, o.GetNamespace())
				}
			})
			if len(elsewhere) > 0 {
				return "namespace " + several(elsewhere) + " has one"
			}
		}
	}
	if len(names) == 0 {
		return "there is none at all"
	}
	return "there are " + several(names)
}

// several joins the first few.
func several(names []string) string {
	const most = 5
	slices.Sort(names)
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// Names lists the names of a kind in a namespace.
func Names(ctx context.Context, c client.Client, namespace string, list client.ObjectList) ([]string, error) {
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var out []string
	if err := each(list, func(o client.Object) { out = append(out, o.GetName()) }); err != nil {
		return nil, err
	}
	slices.Sort(out)
	return out, nil
}

func each(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(client.Object); ok {
			do(obj)
		}
		return nil
	})
}
