// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// MaxSkew is how far the clocks of a client and of its store may be apart: kopia runs no maintenance beyond, because it
// would take what somebody else has just written for old.
const MaxSkew = 5 * time.Minute

// ClockReading is the same moment on two clocks.
type ClockReading struct {
	Mover, Store time.Time
}

// Skew is how far the mover's clock is ahead.
func (c ClockReading) Skew() time.Duration { return c.Mover.Sub(c.Store) }

// Excessive reports that kopia would not run maintenance.
func (c ClockReading) Excessive() bool { return c.Skew().Abs() > MaxSkew }

// Difference says which clock is ahead, in words that stay the same from one minute to the next.
func (c ClockReading) Difference() string {
	word := "ahead of"
	if c.Skew() < 0 {
		word = "behind"
	}
	return fmt.Sprintf("the mover's clock is %d minutes %s the store's", int64(c.Skew().Abs().Round(time.Minute)/time.Minute), word)
}

func (c ClockReading) String() string {
	return fmt.Sprintf("%s: %s here, %s there", c.Difference(), c.Mover.UTC().Format(minutes), c.Store.UTC().Format(minutes))
}

const minutes = "2006-01-02 15:04Z"

// clockTimeout bounds the question; nobody waits for a clock.
const clockTimeout = 10 * time.Second

// ReadClock asks the store for its time. It reports false where the store has no clock of its own, or does not tell: a
// local folder is on the mover's kernel.
func (c Connection) ReadClock(ctx context.Context) (ClockReading, bool) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	switch s := c.Storage; {
	case s.S3 != nil:
		return s.S3.readClock(ctx, c.Clock)
	case s.Filesystem != nil && !c.ReadOnly && isRemote(s.Filesystem.Path):
		return s.Filesystem.readClock(c.Clock)
	case s.remote() != nil && s.remote().clockURL() != "":
		return readHTTPClock(ctx, http.DefaultTransport, s.remote().clockURL(), c.Clock)
	default:
		return ClockReading{}, false
	}
}

func (s S3) readClock(ctx context.Context, clock Clock) (ClockReading, bool) {
	t, err := s.transport()
	if err != nil {
		return ClockReading{}, false
	}
	defer t.CloseIdleConnections()
	scheme := "https://"
	if s.DisableTLS {
		scheme = "http://"
	}
	return readHTTPClock(ctx, t, scheme+s.endpoint()+"/", clock)
}

// readHTTPClock needs no credentials and no permission: every HTTP answer is dated.
func readHTTPClock(ctx context.Context, t http.RoundTripper, url string, clock Clock) (ClockReading, bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return ClockReading{}, false
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return ClockReading{}, false
	}
	_ = res.Body.Close()
	there, err := http.ParseTime(res.Header.Get("Date"))
	return ClockReading{Mover: clock(), Store: there}, err == nil
}

// clockFile is made and removed again: its time is the server's. It looks like nothing of kopia's.
const clockFile = ".kopiur-clock-"

func (f Filesystem) readClock(clock Clock) (ClockReading, bool) {
	tmp, err := os.CreateTemp(f.Path, clockFile)
	if err != nil {
		return ClockReading{}, false
	}
	defer func() {
		_ = tmp.Close()
		_ = os.Remove(tmp.Name())
	}()
	if _, err := tmp.WriteString("the time, please"); err != nil {
		return ClockReading{}, false
	}
	if err := tmp.Sync(); err != nil {
		return ClockReading{}, false
	}
	here := clock()
	st, err := os.Stat(tmp.Name())
	if err != nil {
		return ClockReading{}, false
	}
	return ClockReading{Mover: here, Store: st.ModTime()}, true
}

// isRemote reports that a folder is on a file system whose times come from somewhere else.
func isRemote(path string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return false
	}
	switch int64(st.Type) { //nolint:unconvert // 32 bits on some machines
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC:
		return true
	default:
		return false
	}
}
