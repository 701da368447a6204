// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// maxStderr is how much of what a command says is kept: its end.
const maxStderr = 8 << 10

// consumer wraps the command of a consumer. An exec of Kubernetes may drop the tail of what is sent to it and say nothing.
// So the command does not read from the exec but from a head that passes on exactly as many bytes as the file has: if one
// is missing, head waits for it and the command with it, until the timeout. The input of the exec stays open until the
// exit status is there. Once head has passed on everything it writes a word that nobody can guess to standard error.
const consumer = `command -v head >/dev/null || { echo "the container has no head, which counts the bytes" >&2; exit 127; }
n=$1 word=$2
shift 2
exec 3>&2
{ head -c "$n" && echo "$word" >&3; } | "$@" 3>&-`

// Consumer is the command line by which a container runs command with size bytes of its standard input. It needs sh and
// head there.
func Consumer(command []string, size int64, word string) []string {
	return append([]string{"sh", "-c", consumer, "kopiur", strconv.FormatInt(size, 10), word}, command...)
}

// held is an input that does not end before the command has.
type held struct {
	io.Reader
	until context.Context //nolint:containedctx // a Reader has no other way to learn that the command has ended
	// broke ends the command when the input cannot be read to its end.
	broke context.CancelCauseFunc
	// reading is held while the input is read: client-go does not wait for who feeds a command that has ended, and the
	// input has another reader then.
	reading sync.Mutex
}

// Read blocks at the end of the input, which would otherwise close the exec's: the command would take that for the end of
// the file.
func (h *held) Read(p []byte) (int, error) {
	n, err := h.read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	if !errors.Is(err, io.EOF) && h.until.Err() == nil {
		h.broke(fmt.Errorf("read what the command was to get: %w", err))
	}
	<-h.until.Done()
	return 0, err //nolint:wrapcheck // it is a Reader
}

func (h *held) read(p []byte) (int, error) {
	h.reading.Lock()
	defer h.reading.Unlock()
	if err := h.until.Err(); err != nil {
		return 0, err //nolint:wrapcheck // nobody reads on
	}
	return h.Reader.Read(p) //nolint:wrapcheck // it is a Reader
}

// release waits until nobody reads the input any more. The context has ended.
func (h *held) release() {
	h.reading.Lock()
	h.reading.Unlock() //nolint:staticcheck,gocritic // to have had it is all
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write never fails: a command must not be held up by what it says.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - maxStderr; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD")) }

// listener keeps the end of what a consumer says and looks for the word by which head acknowledges.
type listener struct {
	word  string
	heard bool
	rest  []byte
	tail  tail
}

// Write takes the word out of what is kept. It may come in pieces.
func (l *listener) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	if i := bytes.Index(l.rest, []byte(l.word)); i >= 0 && !l.heard {
		l.heard = true
		_, _ = l.tail.Write(l.rest[:i])
		l.rest = bytes.TrimPrefix(l.rest[i+len(l.word):], []byte("\n"))
	}
	keep := 0
	if !l.heard {
		keep = min(len(l.rest), len(l.word)-1)
	}
	_, _ = l.tail.Write(l.rest[:len(l.rest)-keep])
	l.rest = append(l.rest[:0], l.rest[len(l.rest)-keep:]...)
	return len(p), nil
}

func (l *listener) String() string {
	t := tail{b: append([]byte(nil), l.tail.b...)}
	_, _ = t.Write(l.rest)
	return t.String()
}

// exit is how a consumer ended. What it said before its input broke does not count.
func (l *listener) exit(ctx context.Context, code int, size int64, err error) (Exit, error) {
	out := Exit{Code: code, Stderr: l.String()}
	if cause := context.Cause(ctx); cause != nil {
		return out, cause
	}
	if l.heard {
		out.Taken = size
	}
	return out, explain(err, out.Stderr)
}
