// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

var now = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

const driver = "ebs.csi.example.org"

type change = func(*group.State)

// self is the Snapshot that makes the group, in a cluster that can do everything.
func self(changes ...change) group.State {
	s := group.State{
		Name: "nightly", Claim: "data", OfRun: true, Self: true, Maker: &group.Maker{Name: "nightly-data", UID: "maker"},
		Began: now.Add(-time.Minute), Timeout: 10 * time.Minute, Served: true,
		Plan: group.Cut{
			Claims:  []group.Claim{{Name: "data", Bound: true, Driver: driver}, {Name: "wal", Bound: true, Driver: driver}},
			Classes: []staging.SnapshotClass{{Name: "groups", Driver: driver}, {Name: "other", Driver: "nfs", Default: true}},
		},
	}
	for _, f := range changes {
		f(&s)
	}
	return s
}

// other is a Snapshot that waits for it.
func other(changes ...change) group.State {
	return self(append([]change{func(s *group.State) { s.Self, s.Claim, s.Plan = false, "wal", group.Cut{} }}, changes...)...)
}

func labelled(names ...string) change {
	return func(s *group.State) {
		for i := range names {
			s.Plan.Claims[i].Label = names[i]
		}
	}
}

// made is the group of this run.
func made(changes ...func(*group.Group)) change {
	return func(s *group.State) {
		s.Group = &group.Group{Name: "nightly", UID: "group", Ours: true, Maker: "maker", Created: now.Add(-30 * time.Second), Content: "content"}
		for _, f := range changes {
			f(s.Group)
		}
	}
}

func ready(g *group.Group) { g.Ready = true }
func old(g *group.Group)   { g.Created = now.Add(-time.Hour) }

func member(changes ...func(*staging.Snapshot)) change {
	return func(s *group.State) {
		s.Member = &staging.Snapshot{Name: "snapshot-1", Ready: true}
		for _, f := range changes {
			f(s.Member)
		}
	}
}

func maker(f func(*group.Maker)) change { return func(s *group.State) { f(s.Maker) } }

func claim(i int, f func(*group.Claim)) change {
	return func(s *group.State) { f(&s.Plan.Claims[i]) }
}

func TestNext(t *testing.T) {
	t.Parallel()
	read := func(s *group.State) { s.Read = true }
	alone := func(s *group.State) { s.Maker = nil }
	byHand := func(s *group.State) { s.OfRun = false }
	foreign := func(g *group.Group) { g.Ours, g.Maker = false, "" }
	for name, tc := range map[string]struct {
		in     group.State
		step   group.Step
		reason string
		says   string
		claims []string
		class  string
		after  time.Duration
	}{
		"the maker labels the claims first":                                      {in: self(), step: group.Label, reason: kopiurv1.ReasonWaitingForGroupSnapshot, claims: []string{"data", "wal"}},
		"it goes on where it was cut short":                                      {in: self(labelled("nightly")), step: group.Label, reason: kopiurv1.ReasonWaitingForGroupSnapshot, claims: []string{"wal"}},
		"it makes the group when all have the label":                             {in: self(labelled("nightly", "nightly")), step: group.Create, reason: kopiurv1.ReasonWaitingForGroupSnapshot, class: "groups"},
		"a claim of another run's cut is waited for":                             {in: self(labelled("hourly")), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "claim data is being cut with VolumeGroupSnapshot hourly", after: 2 * time.Second},
		"those before it are taken first, or two runs could wait for each other": {in: self(labelled("", "hourly")), step: group.Label, reason: kopiurv1.ReasonWaitingForGroupSnapshot, claims: []string{"data"}},
		"a cluster without the API":                                              {in: self(func(s *group.State) { s.Served = false }), step: group.Refused, reason: kopiurv1.ReasonGroupSnapshotUnsupported, says: "groupBy: None"},
		"those that wait tell of it as well":                                     {in: other(func(s *group.State) { s.Served = false }), step: group.Refused, reason: kopiurv1.ReasonGroupSnapshotUnsupported, says: "install their CRDs"},
		"a claim that does not exist holds all":                                  {in: self(claim(1, func(c *group.Claim) { c.Missing = true })), step: group.Refused, reason: kopiurv1.ReasonSourcePVCMissing, says: "claim wal"},
		"a claim without a volume holds all":                                     {in: self(claim(1, func(c *group.Claim) { c.Bound = false })), step: group.Refused, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "claim wal"},
		"a volume that is not CSI holds all":                                     {in: self(claim(0, func(c *group.Claim) { c.Driver = "" })), step: group.Refused, reason: kopiurv1.ReasonSourceNotCSIProvisioned, says: "groupBy: None"},
		"volumes of two drivers are not cut together":                            {in: self(claim(1, func(c *group.Claim) { c.Driver = "nfs" })), step: group.Refused, reason: kopiurv1.ReasonGroupSnapshotUnsupported, says: "claim data is of driver " + driver + " and claim wal of nfs"},
		"no class of the driver":                                                 {in: self(func(s *group.State) { s.Plan.Classes = s.Plan.Classes[1:] }), step: group.Refused, reason: kopiurv1.ReasonNoVolumeGroupSnapshotClass, says: "groupBy: None"},
		"a group that is not ready is waited for, with its driver's words": {
			in: self(made(func(g *group.Group) { g.Error = "pool\nis full" })), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "its driver says: pool is full", after: 9*time.Minute + 30*time.Second,
		},
		"not for ever":                           {in: self(made(old)), step: group.Failed, reason: kopiurv1.ReasonStagingTimedOut, says: "gave up after 10m0s"},
		"for ever where that was asked for":      {in: self(made(old), func(s *group.State) { s.Timeout = 0 }), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot},
		"the copy is taken from its member":      {in: self(made(ready), member()), step: group.Ready, reason: kopiurv1.ReasonSourceStaged},
		"also late":                              {in: other(made(ready, old), member(), maker(func(m *group.Maker) { m.Over = true })), step: group.Ready, reason: kopiurv1.ReasonSourceStaged},
		"also where the maker is gone":           {in: other(alone, made(ready), member()), step: group.Ready, reason: kopiurv1.ReasonSourceStaged},
		"a member that is not there yet":         {in: other(made(ready)), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "VolumeSnapshot of claim wal is not there yet", after: 2 * time.Second},
		"a member that never comes":              {in: other(made(ready, old)), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotLost, says: "holds no snapshot of claim wal"},
		"a member that is not ready yet":         {in: other(made(ready), member(func(m *staging.Snapshot) { m.Ready, m.Error = false, "busy" })), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "its driver says: busy", after: 2 * time.Second},
		"a member that never is":                 {in: other(made(ready, old), member(func(m *staging.Snapshot) { m.Ready = false })), step: group.Failed, reason: kopiurv1.ReasonStagingTimedOut},
		"a member that somebody deletes":         {in: other(made(ready), member(func(m *staging.Snapshot) { m.Deleting = true })), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotLost},
		"a group on its way out":                 {in: self(made(ready, func(g *group.Group) { g.Deleting = true }), member()), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, after: 2 * time.Second},
		"somebody else's group is not touched":   {in: self(made(ready, foreign), member()), step: group.Refused, reason: kopiurv1.ReasonStagingNameTaken, says: "belongs to somebody else"},
		"nor read by those that wait":            {in: other(made(ready, foreign), member()), step: group.Refused, reason: kopiurv1.ReasonStagingNameTaken, says: "start a run of another name"},
		"nor where the maker of the run is gone": {in: other(alone, made(ready, foreign), member()), step: group.Refused, reason: kopiurv1.ReasonStagingNameTaken, says: "belongs to somebody else"},
		"but read where a Snapshot names it":     {in: other(alone, byHand, made(ready, old, foreign), member()), step: group.Ready, reason: kopiurv1.ReasonSourceStaged},
		"an earlier run's group is not read":     {in: self(made(ready, func(g *group.Group) { g.Maker = "earlier" }), member()), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "of an earlier run", after: 2 * time.Second},
		"nor by those that wait":                 {in: other(made(ready, func(g *group.Group) { g.Maker = "earlier" }), member()), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "of an earlier run", after: 2 * time.Second},
		"nor where the maker is gone":            {in: other(alone, made(ready, old), member()), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "of an earlier run", after: 2 * time.Second},

		"the others wait for the maker, and tell what it waits for": {in: other(maker(func(m *group.Maker) { m.Why = "no slot is free" })), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "Snapshot nightly-data cuts the claims of this run with VolumeGroupSnapshot nightly, and waits: no slot is free"},
		"a maker that has said nothing yet":                         {in: other(), step: group.Await, reason: kopiurv1.ReasonWaitingForGroupSnapshot, says: "Snapshot nightly-data cuts"},
		"they fail with it":                                         {in: other(maker(func(m *group.Maker) { m.Over, m.Failed, m.Why = true, true, "no class" })), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotFailed, says: "nothing was cut: no class"},
		"also where the group is half made":                         {in: other(made(), maker(func(m *group.Maker) { m.Over, m.Failed = true, true })), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotFailed},
		"no maker: it may not be created yet":                       {in: other(alone), step: group.Refused, reason: kopiurv1.ReasonGroupSnapshotFailed, says: "correct spec.source.group, or start another run"},
		"a group that went after the maker read it":                 {in: other(maker(func(m *group.Maker) { m.Over = true })), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotLost, says: "went before claim wal was read"},
		"a group that went after another read it":                   {in: other(read), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotLost},
		"the maker makes no second one of another instant":          {in: self(read, labelled("nightly", "nightly")), step: group.Failed, reason: kopiurv1.ReasonGroupSnapshotLost, says: "of another instant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := group.Next(tc.in, now)
			assert.Equal(t, tc.step, got.Step, got.Message)
			assert.Equal(t, tc.reason, got.Reason)
			assert.Contains(t, got.Message, tc.says)
			assert.NotEmpty(t, got.Message)
			assert.Equal(t, tc.claims, got.Claims)
			assert.Equal(t, tc.class, got.Class)
			assert.Equal(t, tc.after, got.Recheck)
		})
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	ours := func(names ...string) []staging.SnapshotClass {
		var out []staging.SnapshotClass
		for _, n := range names {
			out = append(out, staging.SnapshotClass{Name: n, Driver: driver})
		}
		return out
	}
	for name, tc := range map[string]struct {
		classes []staging.SnapshotClass
		named   string
		want    string
		says    string
	}{
		"the only class of the driver":                {classes: ours("a"), want: "a"},
		"the default of several":                      {classes: append(ours("a"), staging.SnapshotClass{Name: "b", Driver: driver, Default: true}), want: "b"},
		"one that volumeSnapshotClassName also names": {classes: append(ours("a"), staging.SnapshotClass{Name: "b", Driver: driver, Default: true}), named: "a", want: "a"},
		"a name that only a VolumeSnapshotClass has":  {classes: ours("a"), named: "snaps", want: "a"},
		"several and no default":                      {classes: ours("b", "a"), says: "(there are: a, b)"},
		"several defaults":                            {classes: []staging.SnapshotClass{{Name: "a", Driver: driver, Default: true}, {Name: "b", Driver: driver, Default: true}}, says: "not one default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := group.Next(self(labelled("nightly", "nightly"), func(s *group.State) { s.Plan.Classes, s.Plan.ClassName = tc.classes, tc.named }), now)
			assert.Equal(t, tc.want, got.Class)
			if tc.says != "" {
				assert.Equal(t, kopiurv1.ReasonNoVolumeGroupSnapshotClass, got.Reason)
				assert.Contains(t, got.Message, tc.says)
			}
		})
	}
}
