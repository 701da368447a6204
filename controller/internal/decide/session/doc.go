// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session decides what becomes of a session in which somebody looks into backups.
//
// Its ConfigMap is all there is of it. One that was just made meets the gates in front of every mover, once: a closed one
// refuses it, for good, because whoever asked sits at a terminal and would rather be told than wait; the next question comes
// with another ConfigMap. Past the gates there is one Job, and the session follows it:
//
//	made ──▶ Starting ──▶ Open ──▶ over: nobody asked for a while, or the age of all sessions is reached
//	  │          └──▶ Failed ──▶ over, some minutes later
//	  └──▶ Refused ──▶ over, some minutes later
//
// Over means that the Job goes, and the ConfigMap behind it. The state is written behind what it tells of: Starting says that
// there was a Job, so that one which is gone then was deleted, and is not made again.
package session
