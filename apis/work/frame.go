// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// FrameKind tells frames apart. A frame is its kind (one byte), the length of its payload (four bytes, big endian) and
// the payload. Frames carry bytes between two processes that may end at any moment, where the end of a stream alone
// would not tell "that was all" from "the other one died".
type FrameKind byte

// Kinds of frames.
const (
	// FrameHello holds a Hello.
	FrameHello FrameKind = 'H'
	// FrameData holds bytes of the stream.
	FrameData FrameKind = 'D'
	// FrameStatus holds a Status, and is the last of its sender.
	FrameStatus FrameKind = 'S'
	// FrameRequest holds a BrowseRequest.
	FrameRequest FrameKind = 'R'
)

const (
	// MaxFrameBytes bounds a payload: a reader never has to hold more.
	MaxFrameBytes = 1 << 20
	frameHeader   = 5
)

// Facts about a stream that its readers branch on.
var (
	// ErrNoStatus: the sender went away before its last frame. What was received is not all there is.
	ErrNoStatus = errors.New("the stream ended without a final status")
	// ErrBadFrame: what was received is no frame, or none that fits here.
	ErrBadFrame = errors.New("malformed stream")
)

// WriteFrame writes one frame with a single Write.
func WriteFrame(w io.Writer, kind FrameKind, payload []byte) error {
	if len(payload) > MaxFrameBytes {
		return fmt.Errorf("write frame: %d bytes, at most %d", len(payload), MaxFrameBytes)
	}
	b := make([]byte, frameHeader, frameHeader+len(payload))
	b[0] = byte(kind)
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload))) //nolint:gosec // bounded above
	if _, err := w.Write(append(b, payload...)); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// ReadFrame reads one frame. At the end of the stream between two frames it returns ErrNoStatus, because a sender's last
// frame is a Status and nobody reads on behind it.
func ReadFrame(r io.Reader) (FrameKind, []byte, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, cut(err)
	}
	kind, size := FrameKind(h[0]), binary.BigEndian.Uint32(h[1:])
	switch kind {
	case FrameHello, FrameData, FrameStatus, FrameRequest:
	default:
		return 0, nil, fmt.Errorf("%w: unknown frame %#x", ErrBadFrame, h[0])
	}
	if size > MaxFrameBytes {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, at most %d", ErrBadFrame, size, MaxFrameBytes)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, nil, cut(err)
	}
	return kind, b, nil
}

// cut turns the end of a stream into ErrNoStatus and keeps every other error.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrNoStatus
	}
	return fmt.Errorf("%w: %w", ErrNoStatus, err)
}

// WriteHello writes the first frame of a mover.
func WriteHello(w io.Writer, h Hello) error {
	h.APIVersion = APIVersion
	return writeJSON(w, FrameHello, h)
}

// WriteStatus writes the last frame of a sender.
func WriteStatus(w io.Writer, s Status) error {
	s.Message = Clip(s.Message, MaxStatusMessageBytes)
	return writeJSON(w, FrameStatus, s)
}

// WriteRequest writes what is wanted of a browse session.
func WriteRequest(w io.Writer, r BrowseRequest) error { return writeJSON(w, FrameRequest, r) }

func writeJSON(w io.Writer, kind FrameKind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return WriteFrame(w, kind, b)
}

// ReadHello reads the first frame of a mover. Where that is a Status, there is nothing to do and it is returned instead.
func ReadHello(r io.Reader) (Hello, *Status, error) {
	kind, b, err := ReadFrame(r)
	if err != nil {
		return Hello{}, nil, err
	}
	switch kind {
	case FrameStatus:
		s, err := decodeStatus(b)
		return Hello{}, &s, err
	case FrameHello:
		var h Hello
		if err := json.Unmarshal(b, &h); err != nil {
			return Hello{}, nil, fmt.Errorf("%w: hello: %w", ErrBadFrame, err)
		}
		if h.APIVersion != APIVersion {
			return Hello{}, nil, fmt.Errorf("%w: apiVersion %q, this side speaks %q", ErrBadFrame, h.APIVersion, APIVersion)
		}
		return h, nil, nil
	default:
		return Hello{}, nil, fmt.Errorf("%w: frame %q before a hello", ErrBadFrame, rune(kind))
	}
}

// ReadRequest reads the one frame of a client of a browse session. Unknown fields are refused.
func ReadRequest(r io.Reader) (BrowseRequest, error) {
	kind, b, err := ReadFrame(r)
	if err != nil {
		return BrowseRequest{}, err
	}
	var req BrowseRequest
	if kind != FrameRequest {
		return req, fmt.Errorf("%w: frame %q instead of a request", ErrBadFrame, rune(kind))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, fmt.Errorf("%w: request: %w", ErrBadFrame, err)
	}
	return req, nil
}

// ReadStatus reads a frame that has to be a Status.
func ReadStatus(r io.Reader) (Status, error) {
	kind, b, err := ReadFrame(r)
	if err != nil {
		return Status{}, err
	}
	if kind != FrameStatus {
		return Status{}, fmt.Errorf("%w: frame %q instead of a status", ErrBadFrame, rune(kind))
	}
	return decodeStatus(b)
}

func decodeStatus(b []byte) (Status, error) {
	var s Status
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%w: status: %w", ErrBadFrame, err)
	}
	s.Message = Clip(s.Message, MaxStatusMessageBytes)
	return s, nil
}

// DataWriter sends bytes as data frames and counts them.
type DataWriter struct {
	w     io.Writer
	bytes int64
}

// NewDataWriter returns a writer whose frames go to w.
func NewDataWriter(w io.Writer) *DataWriter { return &DataWriter{w: w} }

// Write sends p in as many frames as it takes.
func (d *DataWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		part := p[n:min(n+MaxFrameBytes, len(p))]
		if err := WriteFrame(d.w, FrameData, part); err != nil {
			return n, err
		}
		n += len(part)
		d.bytes += int64(len(part))
	}
	return n, nil
}

// Bytes is how much was sent.
func (d *DataWriter) Bytes() int64 { return d.bytes }

// Finish sends the status, with the count of what was sent.
func (d *DataWriter) Finish(s Status) error {
	s.Bytes = d.bytes
	return WriteStatus(d.w, s)
}

// DataReader reads the bytes of data frames up to the sender's status. It returns io.EOF only for a status of 0 that
// counts exactly what was received; anything else is an error, ErrNoStatus where the sender went away.
type DataReader struct {
	r      io.Reader
	rest   []byte
	bytes  int64
	status *Status
	err    error
}

// NewDataReader returns a reader of the frames in r.
func NewDataReader(r io.Reader) *DataReader { return &DataReader{r: r} }

// Read implements io.Reader. An error stays: a stream that was cut does not heal.
func (d *DataReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(d.rest) == 0 {
		if d.err == nil {
			d.next()
		}
		if d.err != nil {
			return 0, d.err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *DataReader) next() {
	kind, b, err := ReadFrame(d.r)
	switch {
	case err != nil:
		d.err = err
	case kind == FrameData:
		d.rest = b
		d.bytes += int64(len(b))
	case kind == FrameStatus:
		var s Status
		if s, d.err = decodeStatus(b); d.err != nil {
			return
		}
		d.status = &s
		switch {
		case s.ExitCode != 0:
			d.err = &StatusError{Status: s}
		case s.Bytes != d.bytes:
			d.err = fmt.Errorf("%w: the sender counts %d bytes, %d arrived", ErrBadFrame, s.Bytes, d.bytes)
		default:
			d.err = io.EOF
		}
	default:
		d.err = fmt.Errorf("%w: frame %q among the data", ErrBadFrame, rune(kind))
	}
}

// Bytes is how much arrived.
func (d *DataReader) Bytes() int64 { return d.bytes }

// Buffered is how much of the frame that was begun is left: what one more Read returns at most.
func (d *DataReader) Buffered() int { return len(d.rest) }

// Status is the sender's, nil as long as none arrived.
func (d *DataReader) Status() *Status { return d.status }

// StatusError is a final status that is not 0.
type StatusError struct{ Status Status }

func (e *StatusError) Error() string {
	if e.Status.Message == "" {
		return fmt.Sprintf("the command ended with exit code %d", e.Status.ExitCode)
	}
	return fmt.Sprintf("the command ended with exit code %d: %s", e.Status.ExitCode, e.Status.Message)
}
