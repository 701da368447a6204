// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// dummy is an execution whose operation is the test's.
func dummy(t *testing.T, g graces, d work.Deadline, run op.Op[work.BootstrapResult], change ...func(*execution)) (signals chan os.Signal, exited chan int, start func() int, result func() work.Result) {
	t.Helper()
	signals, exited = make(chan os.Signal, 1), make(chan int, 1)
	path := filepath.Join(t.TempDir(), "termination-log")
	var out bytes.Buffer
	x := newExecution(Process{Stdout: &out, Stderr: &out, Clock: time.Now, Signals: signals, Exit: func(code int) { exited <- code }},
		runOptions{terminationPath: path}, 1)
	x.graces = g
	for _, c := range change {
		c(x)
	}
	spec := work.Spec{Deadline: d, Operation: work.Operation{Bootstrap: &work.Bootstrap{}}}
	start = func() int {
		return execute(t.Context(), x, spec, run, func(r *work.Result, b *work.BootstrapResult) { r.Bootstrap = b })
	}
	return signals, exited, start, func() work.Result {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		r, err := work.DecodeResult(string(b))
		require.NoError(t, err, "%s", b)
		return r
	}
}

// A wait inside kopia, or a dead NFS server, looks at no context. The process ends all the same, and with a result.
func TestWatchdogReportsAnOperationThatHangs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		signal bool
		want   work.Code
	}{
		"past the hard deadline": {false, work.CodeDeadlineExceeded},
		"after SIGTERM":          {true, work.CodeCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release, running := make(chan struct{}), make(chan struct{})
			g := graces{save: time.Millisecond, end: 2 * time.Millisecond, watchdog: time.Millisecond}
			d := work.Deadline{HardSeconds: 1}
			if tc.signal {
				d = work.Deadline{}
			}
			signals, exited, start, result := dummy(t, g, d, func(context.Context, op.Env, work.Spec) (*work.BootstrapResult, error) {
				close(running)
				<-release
				return &work.BootstrapResult{UniqueID: "too late"}, nil
			})
			done := make(chan int)
			go func() { done <- start() }()
			<-running
			if tc.signal {
				signals <- syscall.SIGTERM
			}
			assert.Equal(t, work.ExitRetryable, <-exited)
			r := result()
			assert.Equal(t, tc.want, r.Code)
			assert.Equal(t, "bootstrap", r.Operation)
			close(release)
			assert.Equal(t, work.ExitRetryable, <-done, "the late result changes nothing")
			assert.Equal(t, tc.want, result().Code)
		})
	}
}

func TestDeadlinesComeInOrder(t *testing.T) {
	t.Parallel()
	_, _, start, result := dummy(t, podGraces(), work.Deadline{SoftSeconds: 1, HardSeconds: 2}, func(ctx context.Context, env op.Env, _ work.Spec) (*work.BootstrapResult, error) {
		<-env.Soft.Done()
		require.NoError(t, ctx.Err(), "the hard deadline is later")
		<-ctx.Done()
		return nil, op.Cause(ctx, errors.New("ended"))
	})
	assert.Equal(t, work.ExitRetryable, start())
	assert.Equal(t, work.CodeDeadlineExceeded, result().Code)
}

func TestSignalEndsSoftlyFirst(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	signals, _, start, result := dummy(t, podGraces(), work.Deadline{}, func(ctx context.Context, env op.Env, _ work.Spec) (*work.BootstrapResult, error) {
		close(running)
		<-env.Soft.Done()
		require.NoError(t, ctx.Err(), "there is time to save what there is")
		return &work.BootstrapResult{UniqueID: "saved"}, op.Cause(env.Soft, errors.New("ended"))
	})
	go func() {
		<-running
		signals <- syscall.SIGTERM
	}()
	assert.Equal(t, work.ExitRetryable, start())
	r := result()
	assert.Equal(t, work.CodeCanceled, r.Code)
	assert.Equal(t, "saved", r.Bootstrap.UniqueID, "a failure keeps what is known")
}

// G-3: a cache that is full in the midst of the work is emptied, and the work is begun again, once.
func TestAFullCacheIsEmptiedAndTheWorkBegunAgain(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("%w: %w", engine.ErrStorage, syscall.ENOSPC)
	for name, tc := range map[string]struct {
		outcomes []error
		free     int64
		runs     int
		code     work.Code
		says     string
		warns    string
	}{
		"it helps":                           {[]error{full, nil}, 0, 2, work.CodeOK, "", "has been emptied"},
		"it does not help":                   {[]error{full, full}, 0, 2, work.CodeNoSpace, "mover.cache.capacity", "has been emptied"},
		"the repository is full":             {[]error{full}, 1 << 30, 1, work.CodeNoSpace, "the repository's storage", ""},
		"something else is wrong":            {[]error{engine.ErrWrongPassword}, 0, 1, work.CodeAuthFailure, "password", ""},
		"the work ends well, and it is full": {[]error{nil}, 0, 1, work.CodeOK, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(cache, "contents"), 0o700))
			runs := 0
			_, _, start, result := dummy(t, podGraces(), work.Deadline{}, func(_ context.Context, env op.Env, _ work.Spec) (*work.BootstrapResult, error) {
				runs++
				assert.Zero(t, env.Progress.Bytes.Load(), "the count begins again as well")
				env.Progress.Bytes.Add(5)
				if runs > 1 {
					assert.NoDirExists(t, filepath.Join(cache, "contents"))
				}
				return &work.BootstrapResult{}, tc.outcomes[runs-1]
			}, func(x *execution) {
				x.o.cacheDir = cache
				x.volume = func(string) (int64, int64) { return 1 << 30, tc.free }
			})
			assert.Equal(t, tc.code.ExitCode(), start())
			assert.Equal(t, tc.runs, runs)
			r := result()
			assert.Equal(t, tc.code, r.Code)
			assert.Contains(t, r.Message, tc.says)
			assert.Contains(t, r.Warning, tc.warns)
			assert.Equal(t, tc.warns == "", r.Warning == "")
		})
	}
}
