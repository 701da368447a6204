// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

func (p *pod) maintain(m work.Maintain) work.Spec { return p.spec(work.Operation{Maintain: &m}) }

// C-11: a maintenance says what it did, what comes next and why space is not back yet.
func TestMaintainReports(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	randomFile(t, filepath.Join(p.source, "big"), 4<<20)
	key := p.snapshots(1)[0]
	p.ok(p.spec(work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})}))
	for _, mode := range []work.MaintenanceMode{work.MaintenanceQuick, work.MaintenanceFull} {
		r := p.ok(p.maintain(work.Maintain{Mode: mode})).Maintain
		assert.Equal(t, mode, r.Mode)
		assert.Equal(t, "kopiur@kopiur-apps-nas", r.Owner)
		assert.Zero(t, r.ReclaimedBytes)
		assert.True(t, r.NextQuick.After(time.Now()))
		assert.Positive(t, r.IndexBlobCount)
		assert.Positive(t, r.IndexBlobBytes)
		require.NotNil(t, r.Epoch)
		if mode == work.MaintenanceQuick {
			assert.Nil(t, r.Waiting)
			continue
		}
		assert.True(t, r.NextFull.After(time.Now()))
		require.NotNil(t, r.Waiting)
		assert.Equal(t, work.ReclaimTooYoung, r.Waiting.Reason)
		assert.GreaterOrEqual(t, r.Waiting.Bytes, int64(4<<20))
		assert.True(t, r.Waiting.At.After(time.Now().Add(24*time.Hour)))
		assert.Contains(t, r.Waiting.Message, r.Waiting.At.Format(time.RFC3339))
	}
}

// K-6, C-7: who owns maintenance is respected, and named.
func TestMaintainYieldsToAForeignOwner(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	s := p.maintain(work.Maintain{Mode: work.MaintenanceFull})
	s.Repository.Hostname = "kopiur-other"
	r, exit := p.run(s)
	assert.Equal(t, work.CodeLeaseHeldByOther, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "kopiur@kopiur-apps-nas")
	assert.Equal(t, "kopiur@kopiur-apps-nas", r.Maintain.Owner)

	s.Operation.Maintain.Owner = &work.OwnerRule{Aliases: []string{"root@laptop"}}
	r, _ = p.run(s)
	assert.Equal(t, work.CodeLeaseHeldByOther, r.Code, "an alias is one name, not any")

	s.Operation.Maintain.Owner = &work.OwnerRule{Anyone: true}
	m := p.ok(s).Maintain
	assert.Equal(t, "kopiur@kopiur-other", m.Owner)
	assert.Equal(t, "kopiur@kopiur-apps-nas", m.PreviousOwner)
	r, _ = p.run(p.maintain(work.Maintain{Mode: work.MaintenanceQuick}))
	assert.Equal(t, work.CodeLeaseHeldByOther, r.Code, "and now the first one yields")
}

func TestMaintainRefuses(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	for name, s := range map[string]work.Spec{ //nolint:paralleltest // one pod for all
		"an unknown mode": p.maintain(work.Maintain{Mode: "thorough"}),
		"a repository that is read-only": func() work.Spec {
			s := p.maintain(work.Maintain{Mode: work.MaintenanceQuick})
			s.Repository.ReadOnly = true
			return s
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			r, exit := p.run(s)
			assert.Equal(t, work.CodeInvalidSpec, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
		})
	}
}
