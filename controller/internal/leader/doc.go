// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leader lets one replica work at a time, by a Lease.
//
// client-go's elector gives up when one renewal window passes without an answer, and every lost leadership costs a full
// cold start, which is itself the load that makes the next stall likelier. This one treats "another replica leads" and
// "the API server did not answer" as two things:
//
//	    last success                      window over      lease over
//	         │ pause 2 s │   window 10 s      │ reconfirm 3 s │
//	─────────●───────────┼──×──×──×──×────────┼──?──?─────────┼──▶ t
//	                     attempts, each ≤ 6 s    GETs only     gives up
//
// A round opens a window, retries inside it, and bounds each attempt by what is left of the window, so that one slow
// attempt cannot use it up. The pause between rounds lies outside. After a round that failed nothing more is written.
// That makes the rest a proof: who takes the Lease has to overwrite our name in it, and we write nothing meanwhile, so
// a GET that still shows our name shows that nobody took it. Names are pod names, which no two live pods share.
// Reconfirming ends when the first standby may claim: one lease duration after the last success, not after now.
//
// A foreign, an empty and a deleted Lease all prove nothing and end the process, as does a missing permission, with the
// verb's name: leadership is never skipped silently.
//
// Lease traffic has a client of its own. It speaks HTTP/1.1 with a read timeout of 5 s, shorter than an attempt, because
// giving up on an HTTP/2 request leaves a wedged connection in the pool, and every retry goes back onto it.
package leader
