// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/moverlog"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
)

// lastWords is how long a log may still take after the result is there.
const lastWords = 3 * time.Second

// logs follows the logs of movers beside the wait; end waits for them.
type logs struct {
	env     *cli.Env
	cluster *cli.Cluster
	display *progress.Display
	// several marks each line with the name of its object.
	several bool

	// jobs of which the log is followed already.
	jobs  map[string]bool
	over  chan struct{}
	stop  []context.CancelFunc
	tails sync.WaitGroup

	mu sync.Mutex
	// lines that each object's movers have said.
	lines map[string]int
}

func newLogs(env *cli.Env, c *cli.Cluster, display *progress.Display, several bool) *logs {
	return &logs{
		env: env, cluster: c, display: display, several: several,
		jobs: map[string]bool{}, over: make(chan struct{}), lines: map[string]int{},
	}
}

// follow begins with the log of a Job. One object may have several, one after the other.
func (l *logs) follow(ctx context.Context, name, job string) {
	if l.jobs[job] {
		return
	}
	l.jobs[job] = true
	ctx, cancel := context.WithCancel(ctx)
	l.stop = append(l.stop, cancel)
	prefix := ""
	if l.several {
		prefix = name + "  "
	}
	l.tails.Go(func() {
		n, err := moverlog.Follow(ctx, l.over, l.cluster, l.env.Clock, l.cluster.Namespace, job, func(format string, args ...any) {
			l.display.Say("%s"+format, append([]any{prefix}, args...)...)
		})
		if err != nil {
			l.cluster.Warn("the mover's log cannot be followed: " + err.Error())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines[name] += n
	})
}

// end gives the logs a moment for their last words.
func (l *logs) end() {
	close(l.over)
	read := make(chan struct{})
	go func() {
		l.tails.Wait()
		close(read)
	}()
	timer := l.env.Clock.NewTimer(lastWords)
	select {
	case <-read:
	case <-timer.C():
	}
	timer.Stop()
	for _, stop := range l.stop {
		stop()
	}
	<-read
}

// unread reports whether no log of an object could be read.
func (l *logs) unread(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[name] == 0
}

// tail shows what the status has of a log that could not be read.
func (l *logs) tail(name, text string) {
	if text == "" {
		return
	}
	l.display.Say("the end of the log, as %s has it:", name)
	moverlog.Copy(strings.NewReader(text), l.display.Say)
}
