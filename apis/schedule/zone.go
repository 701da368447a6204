// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Zone finds a time zone by its IANA name; "" is UTC.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	// "Local" is whatever the machine happens to be set to.
	if name != "Local" && !strings.ContainsAny(name, " \t\n") {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("there is no time zone %q: write an IANA name, such as Europe/Berlin, America/New_York or UTC", name)
}

// MaxJitter bounds a jitter: a run that waits longer than a day would be another day's.
const MaxJitter = 24 * time.Hour

// Jitter reads a schedule's jitter, 0 where it is left out.
func Jitter(d kopiurv1.Duration) (time.Duration, error) {
	jitter, err := d.Parse(0)
	if err != nil {
		return 0, err
	}
	if jitter > MaxJitter {
		return 0, fmt.Errorf("jitter %s is more than a day: write at most 24h", d)
	}
	return jitter, nil
}

// Delay is how long the run of a slot waits: less than the jitter, in whole seconds, and the same for the same object
// and slot on every replica and after every restart. The formula is frozen.
func Delay(uid string, slot time.Time, jitter time.Duration) time.Duration {
	seconds := uint64(max(jitter, 0) / time.Second)
	if seconds == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(uid))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(slot.Unix()))) //nolint:gosec // its bits, not its value
	return time.Duration(h.Sum64()%seconds) * time.Second               //nolint:gosec // less than a jitter
}
