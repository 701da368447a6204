// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshots"
	"github.com/kopiur/kopiur/kopiurctl/internal/moverlog"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
	"github.com/kopiur/kopiur/kopiurctl/internal/wait"
)

// errTimeout is why a wait ended.
var errTimeout = errors.New("timed out")

// lastWords is how long a log may still take after the result is there.
const lastWords = 3 * time.Second

// follow waits for the end of all, shows the way there and answers with what came of it.
func (o *nowOptions) follow(ctx context.Context, c *cli.Cluster, format cli.Output, all []made) error {
	waiting := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	f := &follower{options: o, cluster: c, latest: map[string]*made{}, logs: map[string]string{}, over: make(chan struct{})}
	width := o.env.Width
	if len(all) > 1 {
		width = nil
	}
	f.display = progress.New(o.env.ErrOut, width)
	var names []string
	for i := range all {
		names = append(names, all[i].name)
		f.latest[all[i].name] = &all[i]
		if format != cli.Name {
			what := "created"
			if all[i].existed {
				what = "exists already"
			}
			f.display.Say("Snapshot %s %s", all[i].name, what)
		}
	}
	err := wait.Snapshots(waiting, c, o.env.Clock, c.Namespace, names, func(name string, s *kopiurv1.Snapshot) bool {
		return f.see(waiting, name, s)
	})
	f.end()
	if err := f.answer(format, all); err != nil {
		return err
	}
	return f.verdict(err, all)
}

type follower struct {
	options *nowOptions
	cluster *cli.Cluster
	display *progress.Display
	latest  map[string]*made

	// logs maps each Snapshot to the Job whose log is followed.
	logs   map[string]string
	over   chan struct{}
	stop   []context.CancelFunc
	tails  sync.WaitGroup
	mu     sync.Mutex
	unread []string
}

// see takes a new version; true ends the wait for it.
func (f *follower) see(ctx context.Context, name string, s *kopiurv1.Snapshot) bool {
	if s == nil {
		f.latest[name].Snapshot = nil
		return true
	}
	f.latest[name].Snapshot = s
	f.display.Show(s)
	if f.options.logs && s.Status.Job != nil && s.Status.Job.Name != "" && f.logs[name] == "" {
		f.logs[name] = s.Status.Job.Name
		f.tail(ctx, name, s.Status.Job.Name)
	}
	return ended(s)
}

// ended reports whether nothing more comes of a Snapshot unless somebody acts.
func ended(s *kopiurv1.Snapshot) bool {
	if s.DeletionTimestamp != nil || s.Status.Phase.Terminal() {
		return true
	}
	stalled := meta.FindStatusCondition(s.Status.Conditions, kopiurv1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.ObservedGeneration == s.Generation
}

// tail follows a log beside the wait; end waits for it.
func (f *follower) tail(ctx context.Context, name, job string) {
	ctx, cancel := context.WithCancel(ctx)
	f.stop = append(f.stop, cancel)
	prefix := ""
	if len(f.latest) > 1 {
		prefix = name + "  "
	}
	f.tails.Go(func() {
		n, err := moverlog.Follow(ctx, f.over, f.cluster, f.options.env.Clock, f.cluster.Namespace, job, func(format string, args ...any) {
			f.display.Say("%s"+format, append([]any{prefix}, args...)...)
		})
		if err != nil {
			f.cluster.Warn("the mover's log cannot be followed: " + err.Error())
		}
		if n == 0 {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.unread = append(f.unread, name)
		}
	})
}

// end gives the logs a moment for their last words, and shows what the status has of those that could not be read.
func (f *follower) end() {
	close(f.over)
	read := make(chan struct{})
	go func() {
		f.tails.Wait()
		close(read)
	}()
	timer := f.options.env.Clock.NewTimer(lastWords)
	select {
	case <-read:
	case <-timer.C():
	}
	timer.Stop()
	for _, stop := range f.stop {
		stop()
	}
	<-read
	f.display.Close()
	if !f.options.logs {
		return
	}
	for name, m := range f.latest {
		if s := m.Snapshot; s != nil && s.Status.LogTail != "" && (f.logs[name] == "" || slices.Contains(f.unread, name)) {
			f.display.Say("the end of the log, as %s has it:", name)
			moverlog.Copy(strings.NewReader(s.Status.LogTail), f.display.Say)
		}
	}
}

func (f *follower) answer(format cli.Output, all []made) error {
	var left []made
	var rows []*kopiurv1.Snapshot
	for _, m := range all {
		if m.Snapshot != nil {
			left = append(left, m)
			rows = append(rows, m.Snapshot)
		}
	}
	if format.Machine() {
		return printer.Objects(f.options.env.Out, format, f.cluster.Scheme(), len(all) > 1, objects(left)...)
	}
	return snapshots.Print(f.options.env, rows, nil, false)
}

// verdict is the error of the whole, nil if all succeeded. The worst comes first: a failure is final, a wait that was
// given up is not.
func (f *follower) verdict(waited error, all []made) error {
	var failures, open []string
	for _, m := range all {
		s := m.Snapshot
		switch {
		case s == nil:
			failures = append(failures, fmt.Sprintf("Snapshot %s was deleted before its end", m.name))
		case s.DeletionTimestamp != nil:
			failures = append(failures, fmt.Sprintf("Snapshot %s is being deleted", s.Name))
		case s.Status.Phase == kopiurv1.SnapshotSucceeded || s.Status.Phase == kopiurv1.SnapshotUnchanged || s.Status.Phase == kopiurv1.SnapshotDiscovered:
		case ended(s) && s.Status.Phase == kopiurv1.SnapshotFailed:
			failures = append(failures, fmt.Sprintf("Snapshot %s failed: %s", s.Name, snapshots.Message(s)))
		case ended(s):
			failures = append(failures, fmt.Sprintf("Snapshot %s does not go on until you act: %s", s.Name, snapshots.Message(s)))
		default:
			open = append(open, fmt.Sprintf("Snapshot %s is %s", s.Name, progress.Text(s)))
		}
	}
	const goesOn = "it goes on; look again with kopiurctl snapshots list"
	switch {
	case len(failures) > 0:
		return cli.Failedf("%s", strings.Join(append(failures, open...), "\n"))
	case errors.Is(waited, errTimeout):
		return cli.Timeoutf("not over after %s: %s; %s", f.options.timeout, strings.Join(open, "; "), goesOn)
	case errors.Is(waited, context.Canceled):
		return cli.Failedf("interrupted: %s; %s", strings.Join(open, "; "), goesOn)
	case waited != nil:
		return fmt.Errorf("wait: %w", waited)
	default:
		return nil
	}
}
