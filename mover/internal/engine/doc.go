// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the only package that imports kopia. It turns the library into the few verbs a mover needs, and
// holds what was learned about its edges:
//
//   - every connection goes through Open, so that a CA bundle, a throttle or a cache limit can never be forgotten by one
//     operation (C-13);
//   - repo.Connect is not used: it deletes the cache and the configuration when its first open fails;
//   - an upload stores a policy that keeps everything on its exact source first, and hands kopia a writer that deletes
//     nothing, because kopia's checkpoints prune finished snapshots by the stored policy (K-11);
//   - entries that kopia would skip without a word are counted on the way in (K-4, K-10), and owners, modes and times
//     that cannot be set are counted on the way out (K-5);
//   - a restore writes below an os.Root, so that no name or link of a repository leads out of the target.
package engine
