// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// Limits of the two carriers.
const (
	// MaxSpecBytes leaves room below the 128 KiB that Linux allows for one environment string.
	MaxSpecBytes = 96 << 10
	// MaxResultBytes is the kubelet's limit for a termination message.
	MaxResultBytes = 4096
	// maxMessageBytes and maxWarningBytes bound the sentences, so that counters always fit beside it.
	maxMessageBytes = 1024
	maxWarningBytes = 512
)

// ErrTooLarge is returned for a Spec over MaxSpecBytes.
var ErrTooLarge = errors.New("work spec is too large")

// ErrNoResult is returned for a termination message that is empty or not a Result.
var ErrNoResult = errors.New("no result")

// EncodeSpec renders the Spec for EnvSpec. It fails with ErrTooLarge, naming the longest part, over MaxSpecBytes, and
// on a Spec without exactly one operation.
func EncodeSpec(s Spec) (string, error) {
	s.APIVersion = APIVersion
	if s.Operation.Name() == "" {
		return "", errors.New("encode work spec: exactly one operation must be set")
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode work spec: %w", err)
	}
	if len(b) > MaxSpecBytes {
		name, size := longest(b)
		return "", fmt.Errorf("%w: %d bytes, at most %d; the longest field is %s with %d bytes", ErrTooLarge, len(b), MaxSpecBytes, name, size)
	}
	return string(b), nil
}

// DecodeSpec reads what EncodeSpec wrote. Unknown fields are refused: a mover must not ignore what a newer controller
// asks for.
func DecodeSpec(text string) (Spec, error) {
	var s Spec
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Spec{}, fmt.Errorf("decode work spec: %w", err)
	}
	if s.APIVersion != APIVersion {
		return Spec{}, fmt.Errorf("decode work spec: apiVersion %q, this mover speaks %q", s.APIVersion, APIVersion)
	}
	if s.Operation.Name() == "" {
		return Spec{}, errors.New("decode work spec: exactly one operation must be set")
	}
	return s, nil
}

// EncodeResult renders a Result in at most MaxResultBytes: it drops named paths from the end, the longest list first,
// and then shortens the sentence until the rest fits. Counters and ids are never dropped.
func EncodeResult(r Result) ([]byte, error) {
	r.APIVersion = APIVersion
	r.Message, r.Warning = Clip(r.Message, maxMessageBytes), Clip(r.Warning, maxWarningBytes)
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if len(b) <= MaxResultBytes {
		return b, nil
	}
	// A copy that shares nothing with the caller's value.
	var c Result
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	for len(b) > MaxResultBytes {
		switch list := longestPaths(reflect.ValueOf(&c)); {
		case list != nil:
			*list = (*list)[:len(*list)-1]
		case c.Warning != "":
			c.Warning = Clip(c.Warning, len(c.Warning)/2)
		case c.Message != "":
			c.Message = Clip(c.Message, len(c.Message)/2)
		default:
			return nil, fmt.Errorf("encode result: %d bytes without its message, at most %d", len(b), MaxResultBytes)
		}
		if b, err = json.Marshal(c); err != nil {
			return nil, fmt.Errorf("encode result: %w", err)
		}
	}
	return b, nil
}

// longestPaths finds the longest list of named paths anywhere in a result, nil where none is left.
func longestPaths(v reflect.Value) *[]EntryFault {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if list, ok := reflect.TypeAssert[*[]EntryFault](v); ok {
			if len(*list) == 0 {
				return nil
			}
			return list
		}
		return longestPaths(v.Elem())
	case reflect.Struct:
		var found *[]EntryFault
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			f := v.Field(i)
			if f.Kind() != reflect.Pointer {
				f = f.Addr()
			}
			if list := longestPaths(f); list != nil && (found == nil || len(*list) > len(*found)) {
				found = list
			}
		}
		return found
	default:
		return nil
	}
}

// DecodeResult reads a termination message. Anything that is not a valid Result is ErrNoResult: the kubelet puts the
// end of the log or a message of its own there when a container dies early. Unknown fields are allowed, because a
// newer mover may say more.
func DecodeResult(text string) (Result, error) {
	var r Result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Result{}, fmt.Errorf("%w: %s", ErrNoResult, "the termination message is not JSON")
	}
	if r.APIVersion != APIVersion || !r.Code.Valid() {
		return Result{}, fmt.Errorf("%w: apiVersion %q, code %q", ErrNoResult, r.APIVersion, r.Code)
	}
	return r, nil
}

// EncodeEvent renders one line, with its newline.
func EncodeEvent(e Event) ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return append(b, '\n'), nil
}

// DecodeEvent reads one line. A line that is not an Event (a panic's text, a library's print) is no error for the
// reader of a stream: it reports false.
func DecodeEvent(line []byte) (Event, bool) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, false
	}
	switch e.Type {
	case EventLog, EventProgress, EventPage, EventResult:
		return e, true
	default:
		return Event{}, false
	}
}

// Clip shortens s to at most n bytes on a rune boundary, marking the cut.
func Clip(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	if n <= len(mark) {
		return ""
	}
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// longest names the leaf of a JSON document that takes most bytes.
func longest(doc []byte) (name string, size int) {
	var walk func(prefix string, raw json.RawMessage)
	walk = func(prefix string, raw json.RawMessage) {
		var obj map[string]json.RawMessage
		if json.Unmarshal(raw, &obj) == nil && obj != nil {
			for k, v := range obj {
				walk(prefix+"."+k, v)
			}
			return
		}
		if len(raw) > size {
			name, size = prefix, len(raw)
		}
	}
	walk("", doc)
	if name != "" {
		name = name[1:]
	}
	return name, size
}
