// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
)

var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

type with func(*breaker.Input)

func given(changes ...with) breaker.Input {
	in := breaker.Input{Repository: "Repository apps/nas", Threshold: 10}
	for _, c := range changes {
		c(&in)
	}
	return in
}

func pending(n int, at time.Time) with { return members(n, breaker.Member{DeletedAt: at}) }
func held(n int, at time.Time) with    { return members(n, breaker.Member{DeletedAt: at, Held: true}) }

func pruned(n int) with      { return members(n, breaker.Member{DeletedAt: noon, Prune: true}) }
func threshold(n int32) with { return func(in *breaker.Input) { in.Threshold = n } }
func ack(at time.Time) with  { return func(in *breaker.Input) { in.Ack = at } }
func fault(text string) with { return func(in *breaker.Input) { in.AckFault = text } }

func members(n int, m breaker.Member) with {
	return func(in *breaker.Input) { in.Pending = append(in.Pending, slices.Repeat([]breaker.Member{m}, n)...) }
}

func TestDecide(t *testing.T) {
	t.Parallel()
	before, after := noon.Add(-time.Second), noon.Add(time.Second)
	for name, tc := range map[string]struct {
		in       breaker.Input
		wantOpen bool
		wantN    int
	}{
		"nothing pending passes":                                       {given(), false, 0},
		"one below the threshold passes":                               {given(pending(9, noon)), false, 9},
		"at the threshold everything is held":                          {given(pending(10, noon)), true, 10},
		"a threshold of one holds every single deletion":               {given(pending(1, noon), threshold(1)), true, 1},
		"a threshold of nought switches it off":                        {given(pending(500, noon), threshold(0)), false, 500},
		"and lets go what was held":                                    {given(held(500, noon), threshold(0)), false, 500},
		"a threshold below nought is off, not a hold for ever":         {given(pending(3, noon), threshold(-1)), false, 3},
		"Kopiur's own prunes are not counted":                          {given(pending(9, noon), pruned(500)), false, 9},
		"nor do they hide what is counted":                             {given(pending(10, noon), pruned(500)), true, 10},
		"an ack covers what was deleted before it":                     {given(held(50, before), ack(noon)), false, 0},
		"and in its own second":                                        {given(held(50, noon), ack(noon)), false, 0},
		"an ack does not cover a later wave":                           {given(pending(10, after), ack(noon)), true, 10},
		"a later wave is counted from nought":                          {given(held(50, before), pending(9, after), ack(noon)), false, 9},
		"an ack from long ago in Git covers nothing":                   {given(pending(10, noon), ack(noon.AddDate(0, -1, 0))), true, 10},
		"a hold latches when the count falls":                          {given(held(1, noon)), true, 1},
		"and holds a newcomer":                                         {given(held(1, noon), pending(1, after)), true, 2},
		"time does not release it":                                     {given(held(9, noon.AddDate(-1, 0, 0))), true, 9},
		"a deletion without a time is covered by nothing":              {given(held(10, time.Time{}), ack(noon)), true, 10},
		"a prune that says it was held does not latch":                 {given(members(5, breaker.Member{DeletedAt: noon, Prune: true, Held: true})), false, 0},
		"a held member that was acknowledged does not latch the rest":  {given(held(10, before), pending(1, after), ack(noon)), false, 1},
		"a held one after the ack keeps the breaker open for the rest": {given(held(1, after), ack(noon)), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := breaker.Decide(tc.in)
			assert.Equal(t, tc.wantOpen, got.Open)
			assert.Equal(t, tc.wantN, got.Pending)
			assert.NotEmpty(t, got.Message, "every verdict explains itself")
			want := kopiurv1.ReasonSucceeded
			if tc.wantOpen {
				want = kopiurv1.ReasonMassDeletionBreaker
			}
			assert.Equal(t, want, got.Reason)
		})
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	open := breaker.Decide(given(pending(10, noon.Add(time.Second)), ack(noon)))
	require.True(t, open.Open)
	for name, tc := range map[string]struct {
		m    breaker.Member
		want bool
	}{
		"a deletion by somebody else is held":         {breaker.Member{DeletedAt: noon.Add(time.Second)}, true},
		"Kopiur's own prune goes on during a hold":    {breaker.Member{DeletedAt: noon.Add(time.Second), Prune: true}, false},
		"what was acknowledged goes on during a hold": {breaker.Member{DeletedAt: noon, Held: true}, false},
		"what has no time is held":                    {breaker.Member{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, open.Holds(tc.m))
		})
	}
	closed := breaker.Decide(given(pending(9, noon)))
	assert.False(t, closed.Holds(breaker.Member{DeletedAt: noon}))
}

// The text is written into a thousand objects: it must not change with every one that arrives (J-6).
func TestTheMessageIsStable(t *testing.T) {
	t.Parallel()
	ten, thousand := breaker.Decide(given(pending(10, noon))), breaker.Decide(given(held(1000, noon)))
	assert.Equal(t, ten.Message, thousand.Message)
	for _, part := range []string{"Repository apps/nas", "10", kopiurv1.AnnotationAllowMassDeletion, kopiurv1.AnnotationSkipSnapshotCleanup} {
		assert.Contains(t, ten.Message, part)
	}
	assert.Contains(t, breaker.Decide(given(pending(10, noon), fault("it lies in the future"))).Message, "it lies in the future")
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	assert.Equal(t, int32(10), breaker.Threshold(nil))
	assert.Equal(t, int32(10), breaker.Threshold(&kopiurv1.DeletionProtection{}))
	assert.Equal(t, int32(0), breaker.Threshold(&kopiurv1.DeletionProtection{Threshold: new(int32(0))}))
}

// I-10: an ack more than five minutes ahead is refused, one within them counts as of when it was first seen.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	recorded := func(value, effective string) *kopiurv1.DeletionAck {
		return &kopiurv1.DeletionAck{Value: value, EffectiveAt: effective}
	}
	old := recorded(at(-time.Hour), at(-time.Hour))
	for name, tc := range map[string]struct {
		value       string
		stored      *kopiurv1.DeletionAck
		want        *kopiurv1.DeletionAck
		wantFault   bool
		wantInvalid bool
	}{
		"no annotation, nothing recorded":                         {"", nil, nil, false, false},
		"one that was taken back stays on record":                 {"", old, old, false, false},
		"the present time counts as it is":                        {at(0), nil, recorded(at(0), at(0)), false, false},
		"so does a past one":                                      {at(-time.Hour), nil, old, false, false},
		"a little ahead counts as of now":                         {at(4 * time.Minute), nil, recorded(at(4*time.Minute), at(0)), false, false},
		"five minutes ahead just pass":                            {at(5 * time.Minute), nil, recorded(at(5*time.Minute), at(0)), false, false},
		"more than five minutes ahead is refused":                 {at(5*time.Minute + time.Second), nil, recorded(at(5*time.Minute+time.Second), ""), true, true},
		"one that was seen before does not move":                  {at(4 * time.Minute), recorded(at(4*time.Minute), at(-time.Minute)), recorded(at(4*time.Minute), at(-time.Minute)), false, false},
		"one that was refused stays refused when its time comes":  {at(-time.Hour), recorded(at(-time.Hour), ""), recorded(at(-time.Hour), ""), true, true},
		"a later one replaces an older":                           {at(0), old, recorded(at(0), at(0)), false, false},
		"what is no time changes nothing":                         {"yes", old, old, true, false},
		"an offset is understood":                                 {"2026-03-05T13:00:00+01:00", nil, recorded("2026-03-05T13:00:00+01:00", at(0)), false, false},
		"a date is no time":                                       {"2026-03-05", nil, nil, true, false},
		"true is no time, so nobody can leave the door open":      {"true", nil, nil, true, false},
		"one that was refused can be replaced by the present one": {at(0), recorded(at(24*time.Hour), ""), recorded(at(0), at(0)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := breaker.Acknowledge(tc.value, tc.stored, noon)
			assert.Equal(t, tc.want, got.Record)
			assert.Equal(t, tc.wantFault, got.Fault != "", got.Fault)
			assert.Equal(t, tc.wantInvalid, got.Invalid)
			assert.Equal(t, got, breaker.Acknowledge(tc.value, got.Record, noon), "deciding twice changes nothing")
			later := breaker.Acknowledge(tc.value, got.Record, noon.AddDate(0, 0, 1))
			assert.Equal(t, got.Record, later.Record, "and neither does time")
		})
	}
}

func TestInEffect(t *testing.T) {
	t.Parallel()
	value := noon.Add(time.Minute).Format(time.RFC3339)
	stored := &kopiurv1.DeletionAck{Value: value, EffectiveAt: noon.Format(time.RFC3339)}
	for name, tc := range map[string]struct {
		value  string
		stored *kopiurv1.DeletionAck
		want   time.Time
	}{
		"what annotation and status agree on":       {value, stored, noon},
		"one that was taken back":                   {"", stored, time.Time{}},
		"one that the status does not know yet":     {value, nil, time.Time{}},
		"one that the status knows another for":     {noon.Format(time.RFC3339), stored, time.Time{}},
		"one that was refused":                      {value, &kopiurv1.DeletionAck{Value: value}, time.Time{}},
		"a status that somebody has tampered with":  {value, &kopiurv1.DeletionAck{Value: value, EffectiveAt: "soon"}, time.Time{}},
		"an empty annotation beside an empty value": {"", &kopiurv1.DeletionAck{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.True(t, tc.want.Equal(breaker.InEffect(tc.value, tc.stored)))
		})
	}
}
