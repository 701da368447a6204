// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/kopia/kopia/repo/logging"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogFunc takes one line of kopia's log.
type LogFunc func(level, module, message string)

// WithLog sends kopia's warnings and errors to f. Below that it tells of every blob and every retry, which would fill
// the mover's stream in minutes; without this it says nothing at all.
func WithLog(ctx context.Context, f LogFunc) context.Context {
	return logging.WithLogger(ctx, LoggerFactory(f))
}

// LoggerFactory is the same for whoever wants a logger of kopia's kind.
func LoggerFactory(f LogFunc) logging.LoggerFactory {
	return func(module string) logging.Logger {
		return zap.New(&logCore{f: f, module: module}).Sugar()
	}
}

type logCore struct {
	f      LogFunc
	module string
	fields []zapcore.Field
}

func (c *logCore) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{f: c.f, module: c.module, fields: append(slices.Clip(c.fields), fields...)}
}

func (c *logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	var b strings.Builder
	b.WriteString(e.Message)
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range append(slices.Clip(c.fields), fields...) {
		f.AddTo(enc)
	}
	if err, ok := enc.Fields["error"].(string); ok {
		b.WriteString(": " + err)
	}
	c.f(e.Level.String(), c.module, b.String())
	return nil
}

func (c *logCore) Sync() error { return nil }
