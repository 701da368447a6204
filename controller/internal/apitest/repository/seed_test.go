// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const seededID = "aabbccddeeff00112233445566778899"

// seedLab is a new repository that is to be filled from bucket mirror.
type seedLab struct {
	*testenv.Env
	t    *testing.T
	repo *kopiurv1.Repository

	mu   sync.Mutex
	play func(testenv.Call) testenv.Play
}

func newSeedLab(t *testing.T, edit ...func(*kopiurv1.Repository)) *seedLab {
	t.Helper()
	l := &seedLab{Env: testenv.New(t), t: t}
	l.Mover(func(c testenv.Call) testenv.Play {
		l.mu.Lock()
		play := l.play
		l.mu.Unlock()
		p := testenv.Succeed(c)
		if c.Spec.Operation.Seed == nil {
			return p
		}
		if play != nil {
			return play(c)
		}
		p.Result.Seed = &work.SeedResult{UniqueID: seededID, SnapshotCount: 3, BlobsCopied: 9}
		return p
	})
	l.repo = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}}
	l.repo.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "nas"}
	l.repo.Spec.Encryption.PasswordSecretRef.Name = "password"
	l.repo.Spec.Seed = &kopiurv1.SeedSpec{From: kopiurv1.SeedSource{Backend: &kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "mirror"}}}}
	for _, f := range edit {
		f(l.repo)
	}
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), l.repo)
	return l
}

func (l *seedLab) plays(f func(testenv.Call) testenv.Play) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.play = f
}

func (l *seedLab) until(phase kopiurv1.RepositoryPhase, seeded metav1.ConditionStatus, reason string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repo)
		require.Equal(c, phase, l.repo.Status.Phase, "%+v", l.repo.Status.Conditions)
		for _, x := range l.repo.Status.Conditions {
			if x.Type == kopiurv1.ConditionSeeded {
				require.Equal(c, seeded, x.Status)
				require.Equal(c, reason, x.Reason, x.Message)
				return
			}
		}
		require.Fail(c, "no condition Seeded")
	}, testenv.Wait, testenv.Tick)
}

// operations are what movers were started for, in order.
func (l *seedLab) operations() []string {
	var out []string
	for _, c := range l.Calls() {
		out = append(out, c.Spec.Operation.Name())
	}
	return out
}

// TestANewRepositoryIsSeededFirst: nothing connects before the seed has ended, its id is pinned with its end, and it is
// seeded once (K-8, B-10).
func TestANewRepositoryIsSeededFirst(t *testing.T) {
	t.Parallel()
	l := newSeedLab(t)
	hold := make(chan struct{})
	l.plays(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Seed = &work.SeedResult{UniqueID: seededID, SnapshotCount: 3}
		p.Hold = hold
		return p
	})
	l.StartController()
	l.until(kopiurv1.RepositoryInitializing, metav1.ConditionFalse, kopiurv1.ReasonSeeding)
	assert.NotEmpty(t, l.repo.Status.Seed.StartedAt, "before its Job was made")
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, []string{"seed"}, l.operations()) }, testenv.Wait, testenv.Tick)
	call := l.Calls()[0]
	assert.Equal(t, "mirror", call.Spec.Operation.Seed.Blob.Source.S3.Bucket)
	assert.Empty(t, call.Spec.Repository.ExpectedUniqueID)
	close(hold)
	l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
	assert.Equal(t, seededID, l.repo.Status.UniqueID)
	assert.Equal(t, int64(3), l.repo.Status.Seed.SnapshotCount)
	assert.Equal(t, kopiurv1.SeedBlob, l.repo.Status.Seed.Mode)
	assert.Equal(t, []string{"seed", "bootstrap"}, l.operations())
	connect := l.Calls()[1].Spec
	assert.Equal(t, seededID, connect.Repository.ExpectedUniqueID)
	assert.Nil(t, connect.Operation.Bootstrap.Create, "nothing is created in its place")
	assert.NotNil(t, connect.Operation.Bootstrap.Catalog, "the first connect lists what came")

	// It may stand in Git for ever.
	l.Change(l.repo, func() { l.repo.Spec.Seed.AllowEmptySource = true })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repo)
		require.Equal(c, l.repo.Generation, l.repo.Status.ObservedGeneration)
		require.Equal(c, kopiurv1.RepositoryReady, l.repo.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, "seed", l.operations()[0])
	assert.NotContains(t, l.operations()[1:], "seed")
}

// TestAnEmptySourceIsRefused: an empty repository is not taken for the seeded one, and goes on when the spec is corrected.
func TestAnEmptySourceIsRefused(t *testing.T) {
	t.Parallel()
	l := newSeedLab(t)
	l.plays(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Seed.AllowEmptySource {
			p.Result.Seed = &work.SeedResult{LeftEmpty: true}
			return p
		}
		p.Result.Code, p.Result.Message = work.CodeSourceEmpty, "at the source: there is nothing to seed from"
		return p
	})
	l.StartController()
	l.until(kopiurv1.RepositoryFailed, metav1.ConditionFalse, kopiurv1.ReasonSeedSourceEmpty)
	l.Quiet(l.repo, time.Second)
	assert.Equal(t, []string{"seed"}, l.operations(), "nothing was created")
	l.Change(l.repo, func() { l.repo.Spec.Seed.AllowEmptySource = true })
	l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeedLeftEmpty)
	assert.Equal(t, []string{"seed", "seed", "bootstrap"}, l.operations())
	assert.NotNil(t, l.Calls()[2].Spec.Operation.Bootstrap.Create)
}

// TestASeedFromARepositoryWaitsForIt, and runs when it is Ready.
func TestASeedFromARepositoryWaitsForIt(t *testing.T) {
	t.Parallel()
	l := newSeedLab(t, func(r *kopiurv1.Repository) {
		r.Spec.Seed.From = kopiurv1.SeedSource{Repository: &kopiurv1.RepositoryRef{Name: "old"}}
	})
	l.StartController()
	l.until(kopiurv1.RepositoryInitializing, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSeedSource)
	assert.Empty(t, l.operations())
	old := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
	old.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "old"}
	old.Spec.Encryption.PasswordSecretRef.Name = "password"
	l.Create(old)
	l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
	assert.Equal(t, []string{"bootstrap", "seed", "bootstrap"}, l.operations())
	m := l.Calls()[1].Spec.Operation.Seed.Migrate
	require.NotNil(t, m)
	assert.NotEmpty(t, m.Source.ExpectedUniqueID)
	assert.Equal(t, kopiurv1.SeedByMigrate, l.repo.Status.Seed.Mode)
}

// TestASeedKilledAfterAnyWrite: the controller is killed after its first, second, … write. One mover seeds, and the
// repository gets Ready with its id.
func TestASeedKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 14
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4, 6, 8) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			l := newSeedLab(t)
			kill := l.KillAfter(n)
			one := l.StartController()
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			one.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController()
			l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
			assert.Equal(t, seededID, l.repo.Status.UniqueID)
			ops := l.operations()
			assert.Equal(t, "seed", ops[0])
			assert.NotContains(t, ops[1:], "seed", "killed after %v", kill.Writes())
		})
	}
}
