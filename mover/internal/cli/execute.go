// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/limits"
	"github.com/kopiur/kopiur/mover/internal/op"
	"github.com/kopiur/kopiur/mover/internal/term"
)

// graces are the times between being asked to end and being made to.
type graces struct {
	// save is how long the work may take to save what it has after SIGTERM, end when the process ends with a result of
	// its own. Both lie before the kubelet's SIGKILL.
	save, end time.Duration
	// watchdog is the time between the hard deadline and the end of the process.
	watchdog time.Duration
}

func podGraces() graces {
	return graces{save: work.TerminationGrace - 20*time.Second, end: work.TerminationGrace - 10*time.Second, watchdog: work.WatchdogGrace}
}

// execution is one run of one operation. It is the only writer of a result, and writes one.
type execution struct {
	p        Process
	o        runOptions
	graces   graces
	parallel int
	inFlight int64
	redact   *term.Redactor
	stream   *term.Stream
	start    time.Time
	progress *engine.Counters
	volume   func(dir string) (size, free int64)

	mu       sync.Mutex
	warnings []string

	once sync.Once
	code int
}

func newExecution(p Process, o runOptions, parallel int) *execution {
	x := &execution{p: p, o: o, graces: podGraces(), parallel: parallel, redact: &term.Redactor{}, start: p.Clock(), progress: &engine.Counters{}}
	x.volume = limits.Volume
	x.stream = term.NewStream(p.Stdout, p.Clock, x.redact)
	return x
}

// execute is the only code that runs an operation, writes its result and picks an exit code.
func execute[R any](ctx context.Context, x *execution, spec work.Spec, run op.Op[R], set func(*work.Result, *R)) int {
	d := spec.Deadline.OrDefault()
	soft, hard, stop := x.deadlines(ctx, spec.Operation.Name(), seconds(d.SoftSeconds), seconds(d.HardSeconds))
	defer stop()
	hard = engine.WithLog(hard, func(level, module, message string) { x.log(level, module+": "+message) })
	soft = engine.WithLog(soft, func(level, module, message string) { x.log(level, module+": "+message) })
	reported := make(chan struct{})
	rctx, end := context.WithCancel(hard)
	go func() {
		defer close(reported)
		x.stream.Report(rctx, x.sample, time.After)
	}()
	env := x.env(soft)
	engine.DropOldLogs(env.CacheDir)
	out, err := run(hard, env, spec)
	if soft.Err() == nil && repeatable(spec.Operation) && x.emptyFullCache(env.CacheDir, err) {
		x.progress.Reset()
		out, err = run(hard, env, spec)
	}
	end()
	<-reported
	r := work.Result{Operation: spec.Operation.Name()}
	r.Code, r.Message = classify.Outcome(err)
	if err != nil {
		x.log("error", err.Error())
	}
	if r.Code == work.CodeNoSpace && x.isFull(env.CacheDir) {
		r.Message = "the cache volume is full, also after it was emptied; give it more room (mover.cache.capacity)"
	}
	if out != nil {
		set(&r, out)
	}
	return x.finish(r)
}

// deadlines bounds the work three times: soft, hard, and a watchdog that ends the process with a result when the work
// does not end by itself. Some waits inside kopia look at the context only every half minute.
func (x *execution) deadlines(ctx context.Context, name string, softAfter, hardAfter time.Duration) (soft, hard context.Context, stop func()) {
	hard, endHard := context.WithCancelCause(ctx)
	soft, endSoft := context.WithCancelCause(hard)
	softTimer := time.AfterFunc(softAfter, func() { endSoft(classify.ErrSoftDeadline) })
	hardTimer := time.AfterFunc(hardAfter, func() { endHard(classify.ErrHardDeadline) })
	dog := func(code work.Code, message string) func() {
		return func() { x.p.Exit(x.finish(work.Result{Operation: name, Code: code, Message: message})) }
	}
	watchdog := time.AfterFunc(hardAfter+x.graces.watchdog, dog(work.CodeDeadlineExceeded, "the deadline passed, and the work did not end"))
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case s := <-x.p.Signals:
			x.log("warn", fmt.Sprintf("Ending early, the mover received %s", s))
		}
		endSoft(classify.ErrSignal)
		kill := time.AfterFunc(x.graces.save, func() { endHard(classify.ErrSignal) })
		end := time.AfterFunc(x.graces.end, dog(work.CodeCanceled, "the mover was told to end, and the work did not end in time"))
		<-done
		kill.Stop()
		end.Stop()
	}()
	return soft, hard, func() {
		close(done)
		for _, t := range []*time.Timer{softTimer, hardTimer, watchdog} {
			t.Stop()
		}
		endSoft(nil)
		endHard(nil)
	}
}

func (x *execution) env(soft context.Context) op.Env {
	cache := x.o.cacheDir
	if st, err := os.Stat(cache); err != nil || !st.IsDir() {
		cache = "" // no volume is mounted for it
	}
	size, _ := limits.Volume(cache)
	return op.Env{
		Dirs: x.o.dirs, Source: op.DirsBelow(x.o.source), Destination: op.DirsBelow(x.o.destination),
		CacheDir: cache, CacheBytes: size, WorkDir: x.o.workDir, Soft: soft,
		Parallel: x.parallel, InFlight: x.inFlight, Progress: x.progress, Clock: x.p.Clock,
		StreamSocket: x.o.streamSocket, BrowseSocket: x.o.browseSocket,
		Secret: x.redact.Add, Redact: x.redact.Text, Log: x.log, Warn: x.warn, Page: x.stream.Page,
	}
}

// repeatable reports that an operation can be begun again: nobody else is waiting for its bytes or has sent them.
func repeatable(o work.Operation) bool {
	return o.StreamSnapshot == nil && o.StreamRestore == nil && o.Browse == nil
}

// fullBytes is what is left of a volume that is full.
const fullBytes = 1 << 20

func (x *execution) isFull(dir string) bool {
	if dir == "" {
		return false
	}
	size, free := x.volume(dir)
	return size > 0 && free < fullBytes
}

// emptyFullCache empties the cache when it is what an operation had no room in. The work is done once more then: whatever
// else failed, what is in a cache can be fetched again (G-3). The operation has ended, so nobody has it open.
func (x *execution) emptyFullCache(dir string, err error) bool {
	if code, _ := classify.Outcome(err); code != work.CodeNoSpace || !x.isFull(dir) {
		return false
	}
	if err := engine.EmptyCache(dir); err != nil {
		return false
	}
	x.warn("the cache volume was full and has been emptied, and the work was begun again; give it more room if this happens again (mover.cache.capacity)")
	return true
}

func (x *execution) sample() term.Sample {
	c := x.progress
	return term.Sample{Bytes: c.Bytes.Load(), Files: c.Files.Load(), TotalBytes: c.TotalBytes.Load(), TotalFiles: c.TotalFiles.Load()}
}

func (x *execution) log(level, message string) { x.stream.Log(level, message) }

func (x *execution) warn(sentence string) {
	x.log("warn", sentence)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Contains(x.warnings, sentence) {
		x.warnings = append(x.warnings, sentence)
	}
}

func (x *execution) warning() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.warnings, "; ")
}

// fail ends a run that never came to its operation.
func (x *execution) fail(name string, err error) int {
	code, message := classify.Outcome(err)
	return x.finish(work.Result{Operation: name, Code: code, Message: message})
}

// finish writes the result, once: the watchdog and the work may come to it at the same time. The other one then returns
// the same code.
func (x *execution) finish(r work.Result) int {
	x.once.Do(func() {
		r.StartTime, r.EndTime = op.Whole(x.start), op.Whole(x.p.Clock())
		r.Warning = x.warning()
		r = x.redact.Result(r)
		x.code = r.Code.ExitCode()
		x.stream.Result(r)
		if err := term.WriteResult(x.o.terminationPath, r); err != nil {
			// The controller finds no result and the stream's last line at best; the exit code still counts.
			_, _ = fmt.Fprintln(x.p.Stderr, "mover:", x.redact.Text(err.Error()))
		}
	})
	return x.code
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
