// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (a app) wipe(_ context.Context, args []string) error {
	if err := want(args, "DIR"); err != nil {
		return err
	}
	entries, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	var problems []error
	for _, entry := range entries {
		problems = append(problems, os.RemoveAll(filepath.Join(args[0], entry.Name())))
	}
	return errors.Join(problems...)
}

func (a app) write(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("write", flag.ContinueOnError)
	appending := flags.Bool("append", false, "add to the file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := want(flags.Args(), "FILE", "CONTENT"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(flags.Arg(0)), 0o755); err != nil {
		return err
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if *appending {
		how = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(flags.Arg(0), how, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(flags.Arg(1))
	// Synced, because what a test writes must be in the snapshot that follows.
	return errors.Join(err, file.Sync(), file.Close())
}

func (a app) cat(_ context.Context, args []string) error {
	if err := want(args, "FILE"); err != nil {
		return err
	}
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(a.out, file)
	return err
}

func (a app) httpGet(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("http-get", flag.ContinueOnError)
	timeout := flags.Duration("timeout", 10*time.Second, "how long to wait")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := want(flags.Args(), "URL"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, flags.Arg(0), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(a.out, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", flags.Arg(0), answer.Status)
	}
	return nil
}

func (a app) httpServe(ctx context.Context, args []string) error {
	if err := want(args, "ADDRESS", "DIR"); err != nil {
		return err
	}
	server := &http.Server{Addr: args[0], Handler: http.FileServer(http.Dir(args[1])), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a app) waitFor(ctx context.Context, args []string) error {
	if err := want(args, "FILE", "DURATION"); err != nil {
		return err
	}
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := os.Lstat(args[0]); err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", args[0], ctx.Err())
		}
	}
}

func (a app) echo(_ context.Context, args []string) error {
	_, err := fmt.Fprintln(a.out, strings.Join(args, " "))
	return err
}

func (a app) exit(_ context.Context, args []string) error {
	if err := want(args, "CODE"); err != nil {
		return err
	}
	code, err := strconv.Atoi(args[0])
	if err != nil || code == 0 {
		return err
	}
	return exitError(code)
}

// sleep ends without an error when it is told to: a pod that is deleted has not failed.
func (a app) sleep(ctx context.Context, args []string) error {
	if len(args) == 0 {
		<-ctx.Done()
		return nil
	}
	if err := want(args, "DURATION"); err != nil {
		return err
	}
	limit, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	select {
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return nil
}
