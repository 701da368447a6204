// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package numbers_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Environment of a run; hack/bench.sh sets it.
const (
	// envOut is the file that the rows are written to.
	envOut = "KOPIUR_BENCH_OUT"
	// envFull asks for the sizes of the budgets.
	envFull = "KOPIUR_BENCH_FULL"
	// envRows limits a run to some rows.
	envRows = "KOPIUR_BENCH_ROWS"
)

// spread, value, bound and row are what e2e/bench/report reads.
type (
	spread struct {
		Median float64 `json:"median"`
		Min    float64 `json:"min"`
		Max    float64 `json:"max"`
		N      int     `json:"n"`
	}
	value struct {
		spread
		Unit string `json:"unit"`
	}
	bound struct {
		Budget  float64 `json:"budget"`
		Stretch float64 `json:"stretch,omitempty"`
	}
	row struct {
		ID    string `json:"id"`
		What  string `json:"what"`
		Value value  `json:"value"`
		Bound *bound `json:"bound,omitempty"`
		Note  string `json:"note,omitempty"`
	}
)

const (
	seconds = "seconds"
	count   = "count"
)

// rows are those of this process.
var rows struct {
	mu   sync.Mutex
	list []row
}

// publish prints a row and writes all there are so far.
func publish(t *testing.T, r row) {
	t.Helper()
	b, err := json.Marshal(r)
	require.NoError(t, err)
	t.Logf("%s", b)
	rows.mu.Lock()
	defer rows.mu.Unlock()
	rows.list = append(rows.list, r)
	path := os.Getenv(envOut)
	if path == "" {
		return
	}
	all, err := json.MarshalIndent(rows.list, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(all, '\n'), 0o600))
}

// measures reports whether a row is asked for; all are where none is named.
func measures(t *testing.T, id string) bool {
	t.Helper()
	wanted := strings.FieldsFunc(os.Getenv(envRows), func(r rune) bool { return r == ',' || r == ' ' })
	return len(wanted) == 0 || slices.Contains(wanted, id) || slices.Contains(wanted, "C")
}

// sizes of a run.
type sizes struct {
	snapshots, policies, repositories, namespaces, secrets, rounds int
}

func sizesOf() sizes {
	if os.Getenv(envFull) != "" {
		return sizes{snapshots: 10000, policies: 500, repositories: 20, namespaces: 50, secrets: 5000, rounds: 10}
	}
	return sizes{snapshots: 1000, policies: 50, repositories: 5, namespaces: 5, secrets: 500, rounds: 3}
}

// of is a list of times, in seconds.
func of(list []time.Duration) spread {
	if len(list) == 0 {
		return spread{}
	}
	slices.Sort(list)
	return spread{Median: list[len(list)/2].Seconds(), Min: list[0].Seconds(), Max: list[len(list)-1].Seconds(), N: len(list)}
}

// worst is the time that all but one of a hundred stay below.
func worst(list []time.Duration) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(len(list)-1, len(list)*99/100)].Seconds()
}

// exactly is one figure.
func exactly(v float64) spread { return spread{Median: v, Min: v, Max: v, N: 1} }
