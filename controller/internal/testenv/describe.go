// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// Describe is what kubectl describe shows of an object whose kind it does not know: every field as it is stored, and the
// events about it, each with its whole message.
func (e *Env) Describe(c *assert.CollectT, obj client.Object) string {
	gvk, err := apiutil.GVKForObject(obj, e.Client.Scheme())
	require.NoError(c, err)
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	require.NoError(c, e.Client.Get(e.T.Context(), client.ObjectKeyFromObject(obj), u))
	u.SetManagedFields(nil)
	fields, err := yaml.Marshal(u.Object)
	require.NoError(c, err)
	var list corev1.EventList
	require.NoError(c, e.Client.List(e.T.Context(), &list, client.InNamespace(e.Namespace)))
	var b strings.Builder
	b.Write(fields)
	for i := range list.Items {
		if ev := &list.Items[i]; ev.InvolvedObject.UID == u.GetUID() {
			fmt.Fprintf(&b, "%s %s %s\n", ev.Type, ev.Reason, ev.Message)
		}
	}
	return b.String()
}
