// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// sinkPermits bounds the events in flight: what does not fit is dropped, never queued. client-go's broadcaster queues
	// and retries, which during an outage turns every failed reconcile into one more request that fails.
	sinkPermits = 16
	// sinkTimeout bounds one event.
	sinkTimeout = 10 * time.Second
	// seriesWindow is how long a repeated event counts up the first one in place of making another.
	seriesWindow = 10 * time.Minute
	// seriesMax bounds the memory of what was published.
	seriesMax = 1024
	// reporter is the events' reportingController.
	reporter = "kopiur.home-operations.com/controller"
)

// EventWriter is what the sink needs of a clientset: EventsV1().
type EventWriter interface {
	Create(ctx context.Context, namespace string, e *eventsv1.Event) error
	Patch(ctx context.Context, namespace, name string, mergePatch []byte) error
}

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Sink publishes events in the background, at most 16 at a time. It is a manager.Runnable: its Start returns once the
// events in flight are done.
type Sink struct {
	writer   EventWriter
	clock    clock.PassiveClock
	instance string
	permits  chan struct{}

	mu   sync.Mutex
	seen map[string]*series
}

// series is an event that was published, and how often.
type series struct {
	name  string
	count int32
	last  time.Time
}

// NewSink makes a Sink. instance is the name of this process, the pod's.
func NewSink(w EventWriter, c clock.PassiveClock, instance string) *Sink {
	return &Sink{
		writer: w, clock: c, instance: instance,
		permits: make(chan struct{}, sinkPermits), seen: map[string]*series{},
	}
}

// Start waits for the end of the process and then for the events in flight. It ends with all permits in its hands, so
// that what reconcilers still publish while they end is dropped.
func (s *Sink) Start(ctx context.Context) error {
	<-ctx.Done()
	s.drain()
	return nil
}

// drain takes all permits; each event in flight gives its own back within sinkTimeout.
func (s *Sink) drain() {
	for range sinkPermits {
		s.permits <- struct{}{}
	}
}

// NeedLeaderElection makes the manager stop the sink after the reconcilers.
func (s *Sink) NeedLeaderElection() bool { return false }

// Publish sends one event. It returns at once; without a free permit the event is dropped and counted.
func (s *Sink) Publish(about client.Object, e Event) {
	select {
	case s.permits <- struct{}{}:
	default:
		failureEventsDropped.WithLabelValues(dropSaturated).Inc()
		return
	}
	event := s.build(about, e)
	go func() {
		defer func() { <-s.permits }()
		// Events outlive the reconcile that made them.
		ctx, cancel := context.WithTimeout(context.Background(), sinkTimeout)
		defer cancel()
		err := s.send(ctx, event)
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded):
			failureEventsDropped.WithLabelValues(dropTimeout).Inc()
		case IsTransport(err):
			failureEventsDropped.WithLabelValues(dropTransport).Inc()
		default:
			logf.Log.WithName("events").Info("Dropping an event that the API server refused",
				"reason", event.Reason, "error", err.Error())
		}
	}()
}

func (s *Sink) build(about client.Object, e Event) *eventsv1.Event {
	namespace := about.GetNamespace()
	if namespace == "" {
		// The API wants the events of cluster-scoped objects in this namespace.
		namespace = metav1.NamespaceDefault
	}
	out := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace},
		EventTime:           metav1.NewMicroTime(s.clock.Now()),
		ReportingController: reporter,
		ReportingInstance:   clip(s.instance, 128),
		Action:              e.Action,
		Reason:              e.Reason,
		Note:                clip(e.Note, maxNote),
		Type:                e.Type,
		Regarding:           reference(about),
	}
	if e.Related != nil {
		ref := reference(e.Related)
		out.Related = &ref
	}
	return out
}

func reference(obj client.Object) corev1.ObjectReference {
	gvk := GVKOf(obj)
	if own := obj.GetObjectKind().GroupVersionKind(); own.Kind != "" {
		gvk = own
	}
	return corev1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
	}
}

// send creates the event, or counts up the one that said the same a short while ago.
func (s *Sink) send(ctx context.Context, e *eventsv1.Event) error {
	key := fingerprint(e)
	if name, count, ok := s.repeat(key); ok {
		patch, err := json.Marshal(map[string]any{"series": eventsv1.EventSeries{
			Count: count, LastObservedTime: metav1.NewMicroTime(s.clock.Now()),
		}})
		if err != nil {
			return fmt.Errorf("encode event series: %w", err)
		}
		err = s.writer.Patch(ctx, e.Namespace, name, patch)
		if !apierrors.IsNotFound(err) {
			return err //nolint:wrapcheck // judged by class only
		}
		s.forget(key)
	}
	e.Name = fmt.Sprintf("%s.%s.%x", clip(e.Regarding.Name, 200), key[:8], s.clock.Now().UnixNano())
	if err := s.writer.Create(ctx, e.Namespace, e); err != nil {
		return err //nolint:wrapcheck // judged by class only
	}
	s.remember(key, e.Name)
	return nil
}

func fingerprint(e *eventsv1.Event) string {
	sum := sha256.Sum256([]byte(string(e.Regarding.UID) + "\x00" + e.Type + "\x00" + e.Reason + "\x00" + e.Action + "\x00" + e.Note))
	return hex.EncodeToString(sum[:])
}

func (s *Sink) repeat(key string) (name string, count int32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.seen[key]
	now := s.clock.Now()
	if old == nil || now.Sub(old.last) > seriesWindow {
		return "", 0, false
	}
	old.count++
	old.last = now
	return old.name, old.count, true
}

func (s *Sink) remember(key, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if len(s.seen) >= seriesMax {
		for k, v := range s.seen {
			if now.Sub(v.last) > seriesWindow {
				delete(s.seen, k)
			}
		}
	}
	if len(s.seen) >= seriesMax {
		return // it is only told anew next time
	}
	s.seen[key] = &series{name: name, count: 1, last: now}
}

func (s *Sink) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, key)
}
