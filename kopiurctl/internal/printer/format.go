// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package printer

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Bytes is a size for people: three digits are enough to compare.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, i := float64(n), -1
	for v >= unit && i < 5 {
		v /= unit
		i++
	}
	if v >= 99.95 {
		return fmt.Sprintf("%.0f %ciB", v, "KMGTPE"[i])
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[i])
}

// Since is the time from then to now for people, "" where then is no time.
func Since(then, now time.Time) string {
	if then.IsZero() {
		return ""
	}
	// The clock here may be behind that of the cluster.
	return duration.HumanDuration(max(0, now.Sub(then)))
}

// Seconds is a duration for people.
func Seconds(n int64) string { return duration.HumanDuration(time.Duration(n) * time.Second) }

// Time reads a time of a status; zero where there is none.
func Time(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
