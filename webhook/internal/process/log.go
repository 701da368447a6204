// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Logger makes the process's logger and gives it to all libraries that log.
func Logger(o Options, out io.Writer) (logr.Logger, error) {
	h, err := handler(o, out)
	if err != nil {
		return logr.Logger{}, err
	}
	log := logr.FromSlogHandler(h)
	logf.SetLogger(log)
	klog.SetLogger(log.WithName("kubernetes"))
	return log, nil
}

func handler(o Options, out io.Writer) (slog.Handler, error) {
	level, err := parseLevel(o.LogLevel)
	if err != nil {
		return nil, err
	}
	opts := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(o.LogFormat) {
	case "json":
		return slog.NewJSONHandler(out, opts), nil
	case "text", "":
		return slog.NewTextHandler(out, opts), nil
	default:
		return nil, fmt.Errorf("--log-format=%q: must be text or json", o.LogFormat)
	}
}

// parseLevel maps names to slog's levels; logr's V(n) is slog's -n.
func parseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "error":
		return slog.LevelError, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "info", "":
		return slog.LevelInfo, nil
	case "debug":
		return slog.LevelDebug, nil
	case "trace":
		return slog.LevelDebug * 2, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= 10 {
		return slog.Level(-n), nil
	}
	return 0, fmt.Errorf("--log-level=%q: must be error, warn, info, debug, trace or a number from 0 to 10", s)
}
