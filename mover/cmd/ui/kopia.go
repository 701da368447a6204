// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"sync"

	"github.com/alecthomas/kingpin/v2"
	"github.com/kopia/kopia/cli"

	"github.com/kopiur/kopiur/mover/internal/engine"
)

// server is kopia's own, in this process, on a socket that nobody else can reach.
type server struct {
	socket string
	ended  <-chan error
	stop   func()
}

// noEnv keeps kopia from reading its own variables: what it is to do is all in its arguments.
const noEnv = "KOPIUR_UI_HAS_NO_"

// start runs `kopia server start`. It has no password of its own: the gate before it asks for one, and behind the gate
// there is only a socket in a folder of this program. What it does not need is off: gRPC and the control interface are
// for kopia's clients, automatic maintenance is the controller's.
func (u *program) start(ctx context.Context, config, title string) server {
	s := server{socket: u.path("ui.sock")}
	_ = os.Remove(s.socket) // of a container that was restarted
	app := cli.NewApp()
	app.SetEnvNamePrefixForTesting(noEnv)
	app.SetLoggerFactory(engine.LoggerFactory(func(level, module, message string) { u.log(level, module+": "+message) }), io.Discard)
	args := []string{
		"--config-file=" + config, "--no-auto-maintenance", "--no-trace-storage", "--disable-repository-log", "--upgrade-no-block",
		"--error-notifications=never",
		"server", "start", "--insecure", "--without-password", "--address=unix:" + s.socket, "--no-grpc", "--no-control-api",
		"--refresh-interval=" + u.refresh.String(), "--no-persistent-logs", "--ui-preferences-file=" + u.path(preferencesFile),
	}
	if title != "" {
		args = append(args, "--ui-title-prefix="+title+" ")
	}
	stdout, stderr, wait, interrupt := app.RunSubcommand(ctx, kingpin.New("kopia", ""), nil, args)
	var drained sync.WaitGroup
	for _, r := range []io.Reader{stdout, stderr} {
		// Both have to be read, or it stands still.
		drained.Go(func() {
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				u.log("info", "kopia: "+lines.Text())
			}
			_, _ = io.Copy(io.Discard, r)
		})
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		err := wait()
		drained.Wait()
		ended <- err
	}()
	s.ended = ended
	s.stop = func() {
		select {
		case <-gone:
			return
		default:
		}
		interrupt(os.Interrupt) // the end of its context does not end it
		<-gone
	}
	return s
}
