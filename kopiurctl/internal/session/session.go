// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session looks into backups. It asks the controller for a session by a ConfigMap, waits until that is open, and puts
// its questions to the mover in the session's pod. Whoever asks a second time finds the session of the first.
package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/wait"
)

// noticed is how long the controller may take to see that a session is over whose pod does not answer any more.
const noticed = 15 * time.Second

// Client looks into the backups of one namespace.
type Client struct {
	Env     *cli.Env
	Cluster *cli.Cluster
	// TTL is how long a session that is opened lasts without a question; Asked is set where somebody has said so.
	TTL   time.Duration
	Asked bool
	// Timeout bounds the opening; 0 is for ever.
	Timeout time.Duration
}

// Snapshot is where to look.
type Snapshot struct {
	Repository kopiurv1.RepositoryRef
	// Request names it to the mover, and nothing yet that is wanted of it.
	Request work.BrowseRequest
}

// Snapshot reads the Snapshot of a name, which has to stand for something that is stored.
func (c *Client) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	s := &kopiurv1.Snapshot{}
	key := client.ObjectKey{Namespace: c.Cluster.Namespace, Name: name}
	if err := find.Get(ctx, c.Cluster, key, s, "Snapshot", &kopiurv1.SnapshotList{}); err != nil {
		return Snapshot{}, err
	}
	return of(s)
}

func of(s *kopiurv1.Snapshot) (Snapshot, error) {
	phase := s.Status.Phase
	if phase == "" {
		phase = kopiurv1.SnapshotPending
	}
	if s.Status.Snapshot == nil || s.Status.Snapshot.KopiaSnapshotID == "" {
		return Snapshot{}, cli.Failedf("Snapshot %s is %s and stands for nothing that is stored: there is nothing to look into; kubectl describe snapshot %s says why", s.Name, phase, s.Name)
	}
	refs := find.Relations{}.Repositories(s)
	if len(refs) != 1 {
		return Snapshot{}, cli.Failedf("Snapshot %s does not say which repository it is in; kubectl describe snapshot %s says why", s.Name, s.Name)
	}
	i := s.Status.Snapshot.Identity
	out := Snapshot{Repository: refs[0], Request: work.BrowseRequest{
		SnapshotID: s.Status.Snapshot.KopiaSnapshotID,
		Identity:   work.Identity{Username: i.Username, Hostname: i.Hostname, Path: i.SourcePath},
	}}
	if t := s.Status.Timing; t != nil {
		if at, err := time.Parse(time.RFC3339, t.StartTime); err == nil {
			out.Request.StartTime = &at
		}
	}
	return out, nil
}

// Ask puts one question and gives the answer, frames and all, to read. A session that ended before a byte of the answer came
// is opened again, once.
func (c *Client) Ask(ctx context.Context, s Snapshot, read Reader) error {
	for again := true; ; again = false {
		open, err := c.open(ctx, s.Repository)
		if err != nil {
			return err
		}
		began, err := c.exec(ctx, open, s.Request, read)
		var status *work.StatusError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &status):
			return said(status.Status)
		case began || ctx.Err() != nil || cli.CodeOf(err) == cli.Forbidden:
			return err
		}
		if err := c.ended(ctx, open, err); err != nil || !again {
			return err
		}
	}
}

// said is the mover's refusal as an error.
func said(s work.Status) error {
	if s.Code == work.CodeNotFound {
		return &Refusal{Code: s.Code, Err: cli.NotFoundf("%s", s.Message)}
	}
	return &Refusal{Code: s.Code, Err: cli.Failedf("the session's mover answers: %s", s.Message)}
}

// Refusal is what a mover answers in place of what it was asked for.
type Refusal struct {
	Code work.Code
	Err  error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// opened is a session that may be asked.
type opened struct {
	name, pod string
	uid       types.UID
}

// open finds the repository's session, or asks for one, and waits until it is open. One that came to nothing before we asked
// is taken away: another may come to more.
func (c *Client) open(ctx context.Context, ref kopiurv1.RepositoryRef) (opened, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	var last session.Answer
	key := client.ObjectKey{Namespace: c.Cluster.Namespace, Name: session.Name(ref)}
	o, err := c.opening(ctx, key, session.Request{Repository: ref, TTL: c.TTL}, &last)
	_, sentence := errors.AsType[*cli.Error](err)
	switch {
	case err == nil || sentence || !errors.Is(context.Cause(ctx), errTimeout):
		return o, err
	case last.State == session.Unseen:
		return o, cli.Timeoutf("no controller has answered in %s: is Kopiur running, and does it watch namespace %s?", c.Timeout, key.Namespace)
	default:
		return o, cli.Timeoutf("the session has not opened in %s: %s; it goes on opening, and kubectl describe configmap %s says how far it is", c.Timeout, last.Message, key.Name)
	}
}

// opening is open without a sentence about its time. last is what the controller said last.
func (c *Client) opening(ctx context.Context, key client.ObjectKey, request session.Request, last *session.Answer) (opened, error) {
	for {
		cm := &corev1.ConfigMap{}
		err := c.Cluster.Get(ctx, key, cm)
		switch {
		case apierrors.IsNotFound(err):
			c.Env.Say("opening a session on %s", request.Repository)
			if err := c.Cluster.Create(ctx, request.ConfigMap(key.Namespace)); err != nil && !apierrors.IsAlreadyExists(err) {
				return opened{}, fmt.Errorf("ask for a session: %w", err)
			}
		case err != nil:
			return opened{}, fmt.Errorf("look for a session: %w", err)
		case cm.Labels[kopiurv1.LabelSession] != kopiurv1.SessionBrowse:
			return opened{}, cli.Failedf("ConfigMap %s belongs to somebody else, and a session needs its name: delete or rename it", key.Name)
		case session.Read(cm).State.Final() && cm.DeletionTimestamp == nil:
			if err := End(ctx, c.Cluster, cm); err != nil {
				return opened{}, err
			}
			continue
		}
		o, err := c.await(ctx, key, last)
		if err != nil || o.pod != "" {
			return o, err
		}
	}
}

// End deletes a session, and no other of its name. All that belongs to it goes with it.
func End(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	err := c.Delete(ctx, cm, client.Preconditions{UID: &cm.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("end session %s: %w", cm.Name, err)
	}
	return nil
}

var (
	errTimeout = errors.New("it took too long")
	configMaps = wait.Kind[*corev1.ConfigMap]{
		New:  func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		List: func() client.ObjectList { return &corev1.ConfigMapList{} },
	}
)

// await waits for a session's state; one that is gone has no pod.
func (c *Client) await(ctx context.Context, key client.ObjectKey, last *session.Answer) (opened, error) {
	var o opened
	err := wait.Objects(ctx, c.Cluster, c.Env.Clock, configMaps, key.Namespace, []string{key.Name}, func(_ string, cm *corev1.ConfigMap, gone bool) bool {
		if gone {
			return true
		}
		a := session.Read(cm)
		if a.Message != last.Message && last.State == session.Starting && a.State == session.Starting {
			c.Env.Say("%s", a.Message)
		}
		*last = a
		if a.State == session.Open && cm.DeletionTimestamp == nil {
			o = opened{name: cm.Name, uid: cm.UID, pod: a.Pod}
			c.differs(cm)
		}
		return a.State.Final() || o.pod != ""
	})
	switch {
	case err != nil:
		return o, fmt.Errorf("wait for the session: %w", err)
	case last.State.Final() && o.pod == "":
		return o, failed(*last)
	}
	return o, nil
}

// failed is why a session came to nothing.
func failed(a session.Answer) error {
	return cli.Failedf("there is no session, %s: %s", a.Reason, a.Message)
}

// differs says once that a session which is open already has a time of its own.
func (c *Client) differs(cm *corev1.ConfigMap) {
	if r, err := session.Parse(cm); err == nil && c.Asked && r.TTL != c.TTL {
		c.Cluster.Warn(fmt.Sprintf("the session is open already and lasts %s without a question: kopiurctl session end ends it, and the next one lasts as long as you say", r.TTL))
	}
}

// ended waits until a session that does not answer is known to be over. It returns nil where another may be opened.
func (c *Client) ended(ctx context.Context, o opened, cause error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, noticed, errTimeout)
	defer cancel()
	var a session.Answer
	err := wait.Objects(ctx, c.Cluster, c.Env.Clock, configMaps, c.Cluster.Namespace, []string{o.name}, func(_ string, cm *corev1.ConfigMap, gone bool) bool {
		if gone || cm.UID != o.uid {
			return true
		}
		a = session.Read(cm)
		return a.State.Final() || a.Pod != o.pod
	})
	switch {
	case a.State.Final():
		return failed(a)
	case err != nil:
		return cause
	default:
		return nil
	}
}
