// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// TestJobsThatDeleteAreCapped over all repositories: the second one waits until the Job of the first is gone.
func TestJobsThatDeleteAreCapped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.repository.DeepCopy()
	other.Name = "offsite"
	l.base()
	l.Create(other)
	list := l.stored(2, func(i int, s *kopiurv1.Snapshot) {
		if i == 1 {
			s.Status.Resolved.Repository.Name = "offsite"
		}
	})
	hold := make(chan struct{})
	l.onDelete(func(c testenv.Call, n int) testenv.Play {
		p := testenv.Succeed(c)
		if n == 1 {
			p.Hold = hold
		}
		return p
	})
	l.StartController(l.clocks, func(o *setup.Options) { o.MaxConcurrentDeleteJobs = 1 })
	l.connected()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, other)
		assert.Equal(c, kopiurv1.RepositoryReady, other.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.remove(list[0])
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[0])
	l.quiet()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionRunning, list[0])
	l.remove(list[1])
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[1])
	for range 4 {
		l.quiet()
		assert.Len(t, l.jobs(), 1)
	}
	assert.Len(t, l.deletions(), 1)

	close(hold)
	l.gone(list[0])
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.time.Step(30 * time.Second) // its next look
		assert.Len(c, l.deletions(), 2)
	}, testenv.Wait, testenv.Tick)
	l.gone(list[1])
}

// TestWhatIsMeasured: what is pending and held is shown per repository as long as it is, and what went is counted by what
// became of the data.
func TestWhatIsMeasured(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.repository.Spec.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: new(int32(3))}
	l.base()
	list := l.stored(5)
	l.run()
	deleted, orphaned := l.counter(`kopiur_snapshot_deletions_total`, "deleted"), l.counter(`kopiur_snapshot_deletions_total`, "orphaned")
	jobs, members := l.counter("kopiur_snapshot_delete_batch_jobs_total", ""), l.counter("kopiur_snapshot_delete_batch_members_total", "")
	l.remove(list[:4]...)
	l.held(list[:4]...)
	l.gauge("kopiur_snapshot_deletions_pending_external", "Deletions of a repository's snapshots that are pending and not Kopiur's own.", 4)
	l.gauge("kopiur_snapshot_deletions_held", "Those of them that wait for an acknowledgement.", 4)
	l.Annotate(list[3], kopiurv1.AnnotationSkipSnapshotCleanup, "")
	l.gone(list[3])
	l.gauge("kopiur_snapshot_deletions_held", "Those of them that wait for an acknowledgement.", 3)
	l.acknowledge()
	l.gone(list[:3]...)
	l.gauge("kopiur_snapshot_deletions_pending_external", "", 0)
	l.gauge("kopiur_snapshot_deletions_held", "", 0)

	// The counters belong to the process, in which other tests delete as well.
	assert.GreaterOrEqual(t, l.counter("kopiur_snapshot_deletions_total", "deleted"), deleted+3)
	assert.GreaterOrEqual(t, l.counter("kopiur_snapshot_deletions_total", "orphaned"), orphaned+1)
	assert.GreaterOrEqual(t, l.counter("kopiur_snapshot_delete_batch_jobs_total", ""), jobs+1)
	assert.GreaterOrEqual(t, l.counter("kopiur_snapshot_delete_batch_members_total", ""), members+3)
}

// gauge waits for the value of a gauge of the lab's repository; zero is none.
func (l *lab) gauge(name, help string, value int) {
	l.t.Helper()
	want := ""
	if value > 0 {
		want = fmt.Sprintf("# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n%[1]s{kind=\"Repository\",name=\"nas\",namespace=%[3]q} %[4]d\n", name, help, l.Namespace, value)
	}
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		assert.NoError(c, testutil.GatherAndCompare(l.Gauges(), strings.NewReader(want), name))
	}, testenv.Wait, testenv.Tick)
}

// counter reads one of the process; outcome is the value of its label, where it has one.
func (l *lab) counter(name, outcome string) float64 {
	l.t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	require.NoError(l.t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
