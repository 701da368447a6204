// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue says which object is looked at next.
//
// What somebody asks for stands before what follows from work that was begun. A hundred backups that are asked for at once
// make a thousand events: of Jobs, of pods, and of what the controller itself writes. In the order of their arrival those
// of the first backups stand before the start of the last one, which waits for ten times its own work.
//
//	asked for: an object was made, its spec or its annotations were changed, it is to be deleted, what it waits for came
//	follow-up: whatever is gathered for a moment (Jobs and pods), comes by time, or shows a write of ours; and what was
//	           there already when the process began
//
// Each has a time by which it is due. A follow-up is due later than it came, by Patience: it gives way that long and no
// longer, however much is asked for meanwhile. So nothing can starve, and without a crowd nothing waits at all.
package queue
