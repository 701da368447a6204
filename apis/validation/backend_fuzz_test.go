// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// variants of a backend by their keys on the wire, each with what it needs.
var variants = []string{
	`"s3":{"bucket":"b"}`, `"azure":{"container":"c","storageAccount":"a"}`, `"gcs":{"bucket":"b"}`,
	`"b2":{"bucket":"b","auth":{"secretRef":{"name":"k"}}}`, `"filesystem":{"path":"/r"}`,
	`"sftp":{"host":"h","path":"/p","auth":{"secretRef":{"name":"k"}}}`, `"webDav":{"url":"https://h"}`,
	`"rclone":{"remotePath":":memory:"}`, `"gdrive":{"folderId":"f"}`,
}

// FuzzBackendUnion: whatever variants are set, one is taken and any other number is refused, and the name of the one is
// its key on the wire.
func FuzzBackendUnion(f *testing.F) {
	for i := range variants {
		f.Add(uint16(1) << i)
	}
	f.Add(uint16(0))
	f.Add(uint16(0b11))
	f.Add(uint16(1)<<len(variants) - 1)
	f.Fuzz(func(t *testing.T, mask uint16) {
		mask &= 1<<len(variants) - 1
		var set []string
		for i, v := range variants {
			if mask&(1<<i) != 0 {
				set = append(set, v)
			}
		}
		var b kopiurv1.Backend
		require.NoError(t, json.Unmarshal([]byte("{"+strings.Join(set, ",")+"}"), &b))
		findings := backend(field.NewPath("spec", "backend"), b, secretsFrom{})
		if bits.OnesCount16(mask) != 1 {
			require.Error(t, findings.Err())
			assert.Contains(t, findings.Err().Error(), "exactly one of")
			return
		}
		require.NoError(t, findings.Err())
		assert.True(t, strings.HasPrefix(set[0], `"`+b.Name()+`":`), "%s is called %s", set[0], b.Name())
	})
}
