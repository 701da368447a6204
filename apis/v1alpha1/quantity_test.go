// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// TestQuantityDecodesWhateverIsStored holds what keeps one bad object from hiding a whole list.
func TestQuantityDecodesWhateverIsStored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ json, want, wantErr string }{
		"an amount with a unit is read":                            {json: `"10Gi"`, want: "10Gi"},
		"a bare number is bytes":                                   {json: `1073741824`, want: "1073741824"},
		"a number beyond 64 bits is read":                          {json: `12345678901234567890123`, want: "12345678901234567890123"},
		"a fraction is read":                                       {json: `1.5`, want: "1500m"},
		"an exponent is read":                                      {json: `"1e3"`, want: "1e3"},
		"a unit that does not exist decodes and is refused at use": {json: `"512MB"`, wantErr: `quantity "512MB" is not understood`},
		"a fractional exponent decodes and is refused at use":      {json: `"1e3.5"`, wantErr: "not understood"},
		"a word decodes and is refused at use":                     {json: `"banana"`, wantErr: "not understood"},
		"an empty one decodes and is refused at use":               {json: `""`, wantErr: "not understood"},
		"null is empty":                                            {json: `null`, wantErr: `quantity ""`},
		"a boolean decodes and is refused at use":                  {json: `true`, wantErr: "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list kopiurv1.RestoreList
			raw := `{"items":[{"spec":{"target":{"pvc":{"name":"a","capacity":` + tc.json + `}},
				"mover":{"cache":{"capacity":` + tc.json + `},"resources":{"limits":{"memory":` + tc.json + `}}}}},{"metadata":{"name":"next"}}]}`
			require.NoError(t, json.Unmarshal([]byte(raw), &list))
			require.Len(t, list.Items, 2)
			spec := list.Items[0].Spec
			got, err := spec.Target.PVC.Capacity.Parse()
			resources, resourcesErr := spec.Mover.Resources.Parse()
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				require.ErrorContains(t, resourcesErr, "resources.limits.memory: ")
				return
			}
			require.NoError(t, err)
			require.NoError(t, resourcesErr)
			want := resource.MustParse(tc.want)
			assert.Zero(t, want.Cmp(got))
			assert.Zero(t, want.Cmp(resources.Limits[corev1.ResourceMemory]))

			again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list.Items[0])
			require.NoError(t, err)
			var back kopiurv1.Restore
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(again, &back))
			assert.Equal(t, list.Items[0].Spec, back.Spec, "what was read is written back as it stood")
		})
	}
}
