// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package numbers_test

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// moments are when things were first seen, by the UID of the object that they are about. All are seen by one process over
// watches, so that times can be compared.
type moments struct {
	mu sync.Mutex
	// job is the first Job of an owner, ended the first pod of it that has ended, ready the first Ready=True.
	job, ended, ready map[types.UID]time.Time
}

// watch follows Jobs, pods and Snapshots of the whole API server until the test ends.
func (l *lab) watch() *moments {
	l.t.Helper()
	m := &moments{job: map[types.UID]time.Time{}, ended: map[types.UID]time.Time{}, ready: map[types.UID]time.Time{}}
	ours := client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}
	l.follow(&batchv1.JobList{}, func(obj client.Object, now time.Time) {
		first(m.job, types.UID(obj.GetLabels()[kopiurv1.LabelOwnerUID]), now)
	}, m, ours)
	l.follow(&corev1.PodList{}, func(obj client.Object, now time.Time) {
		p, ok := obj.(*corev1.Pod)
		if ok && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Terminated != nil {
			first(m.ended, types.UID(p.Labels[kopiurv1.LabelOwnerUID]), now)
		}
	}, m, ours)
	l.follow(&kopiurv1.SnapshotList{}, func(obj client.Object, now time.Time) {
		s, ok := obj.(*kopiurv1.Snapshot)
		if !ok {
			return
		}
		for _, c := range s.Status.Conditions {
			if c.Type == kopiurv1.ConditionReady && c.Status == metav1.ConditionTrue {
				first(m.ready, s.UID, now)
			}
		}
	}, m)
	return m
}

func first(m map[types.UID]time.Time, uid types.UID, now time.Time) {
	if _, known := m[uid]; !known {
		m[uid] = now
	}
}

func (l *lab) follow(list client.ObjectList, see func(client.Object, time.Time), m *moments, opts ...client.ListOption) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w, err := l.Client.Watch(ctx, list, opts...)
	require.NoError(l.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for err == nil {
			for e := range w.ResultChan() {
				now := time.Now()
				if obj, ok := e.Object.(client.Object); ok {
					m.mu.Lock()
					see(obj, now)
					m.mu.Unlock()
				}
			}
			// The API server ends watches that do not keep up.
			w.Stop()
			w, err = l.Client.Watch(ctx, list, opts...)
		}
	}()
	l.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// forget starts anew with an owner.
func (m *moments) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.job, uid)
}

// jobOf is when a Job of an owner was first seen.
func (m *moments) jobOf(uid types.UID) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.job[uid]
	return at, ok
}

// readyAll counts those that were seen Ready.
func (m *moments) readyAll(list []*kopiurv1.Snapshot) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range list {
		if _, ok := m.ready[s.UID]; ok {
			n++
		}
	}
	return n
}
