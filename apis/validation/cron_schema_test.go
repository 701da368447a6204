// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
)

// The API server asks the schema before the webhook, and its answer has no fix in it. What people write in place of five
// fields is short, and has to get past it.
func TestSchemaLeavesShortCronsToTheWebhook(t *testing.T) {
	t.Parallel()
	schemas, err := schemagen.Read(os.DirFS("../../charts/kopiur/crds"))
	require.NoError(t, err)
	for _, kind := range []string{"SnapshotSchedule", "RepositoryReplication", "SnapshotReplication"} {
		cron := schemas[kind].Property("spec").Property("schedule").Property("cron")
		require.NotNil(t, cron, kind)
		least, ok := cron["minLength"].(float64)
		require.True(t, ok, kind)
		for _, short := range []string{"@daily", "@hourly", "0 3 * *", "5m"} {
			assert.GreaterOrEqual(t, float64(len(short)), least, "%s: %q", kind, short)
		}
	}
}
