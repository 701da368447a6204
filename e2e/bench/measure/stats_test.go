// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   []float64
		want measure.Spread
	}{
		"nothing has no spread":             {nil, measure.Spread{}},
		"one is all of it":                  {[]float64{3}, measure.Spread{Median: 3, Min: 3, Max: 3, N: 1}},
		"the middle of three, in any order": {[]float64{9, 1, 2}, measure.Spread{Median: 2, Min: 1, Max: 9, N: 3}},
		"between the middle two of four":    {[]float64{4, 1, 100, 2}, measure.Spread{Median: 3, Min: 1, Max: 100, N: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, measure.Of(tc.in))
		})
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, b []float64
		want measure.Spread
	}{
		"of the medians, with the range of the rounds": {[]float64{2, 4, 6}, []float64{4, 4, 4}, measure.Spread{Median: 1, Min: 0.5, Max: 1.5, N: 3}},
		"a busy round counts for both":                 {[]float64{1, 10, 1}, []float64{2, 20, 2}, measure.Spread{Median: 0.5, Min: 0.5, Max: 0.5, N: 3}},
		"a round that one side lacks is no ratio":      {[]float64{1, 1}, []float64{1}, measure.Spread{Median: 1, Min: 1, Max: 1, N: 1}},
		"no rounds": {nil, []float64{1}, measure.Spread{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, measure.Ratio(tc.a, tc.b))
		})
	}
}

func TestOrderRotates(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []int{0, 1, 2}, measure.Order(3, 0))
	assert.Equal(t, []int{1, 2, 0}, measure.Order(3, 1))
	assert.Equal(t, []int{2, 0, 1}, measure.Order(3, 2))
	assert.Equal(t, measure.Order(3, 0), measure.Order(3, 3))
}

func TestSeriesAreSecondsAndBytes(t *testing.T) {
	t.Parallel()
	s := measure.Samples{{Wall: 1500 * time.Millisecond, User: time.Second, System: 250 * time.Millisecond, PeakRSS: 42}}
	assert.Equal(t, []float64{1.5}, s.Wall())
	assert.Equal(t, []float64{1.25}, s.CPU())
	assert.Equal(t, []float64{42}, s.RSS())
}
