// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"slices"
	"time"
)

// Spread is a median with its range.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Of is the spread of some numbers, zero for none.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Clone(values)
	slices.Sort(v)
	mid := v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + mid) / 2
	}
	return Spread{Median: mid, Min: v[0], Max: v[len(v)-1], N: len(v)}
}

// Ratio compares two sides that were measured in the same rounds: the ratio of the medians, and the range of the ratios
// of single rounds. A machine that was busy for a while was so for both of a round.
func Ratio(a, b []float64) Spread {
	n := min(len(a), len(b))
	if n == 0 {
		return Spread{}
	}
	rounds := make([]float64, n)
	for i := range n {
		rounds[i] = divide(a[i], b[i])
	}
	s := Of(rounds)
	s.Median = divide(Of(a[:n]).Median, Of(b[:n]).Median)
	return s
}

func divide(a, b float64) float64 {
	if b == 0 {
		return math.Inf(1)
	}
	return a / b
}

// Samples are the runs of one side, by round.
type Samples []Sample

// Wall is the wall time in seconds.
func (s Samples) Wall() []float64 { return s.series(func(x Sample) float64 { return seconds(x.Wall) }) }

// CPU is user and system time in seconds.
func (s Samples) CPU() []float64 { return s.series(func(x Sample) float64 { return seconds(x.CPU()) }) }

// RSS is the peak resident size in bytes.
func (s Samples) RSS() []float64 {
	return s.series(func(x Sample) float64 { return float64(x.PeakRSS) })
}

func (s Samples) series(of func(Sample) float64) []float64 {
	out := make([]float64, len(s))
	for i, x := range s {
		out[i] = of(x)
	}
	return out
}

func seconds(d time.Duration) float64 { return d.Seconds() }

// Order is in which order n sides run in a round: it rotates, so that none always comes after the same other one.
func Order(n, round int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (i + round) % n
	}
	return out
}
