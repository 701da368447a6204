// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package breaker decides whether the pending deletions of one repository may run without a person.
//
// Deletions by Kopiur itself (retention, a replaced run) always run: they are what keeps a repository in order, also
// while an incident is being looked at. All others are counted. At the threshold all of them are held, and what is held
// stays held: time does not release it, nor does a count that falls. An acknowledgement does, which is a time and not a
// switch: it covers what was deleted up to it, so that one that was left in Git never lets a later wave go.
//
//	nine deleted, threshold ten            all run
//	a tenth before they ran                all ten are held
//	five of the ten are let go by hand     the other five stay held, and so does an eleventh
//	an acknowledgement                     what was deleted before it runs; a wave after it is counted from nought
//
// When in doubt more is counted: the threshold is then reached earlier, and data is kept.
package breaker
