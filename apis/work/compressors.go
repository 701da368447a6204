// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Compressors are the names that the mover's kopia knows; none turns compression off. Those that kopia no longer
// recommends are among them: policies name them.
var Compressors = []string{
	"none",
	"deflate-best-compression", "deflate-best-speed", "deflate-default",
	"gzip", "gzip-best-compression", "gzip-best-speed",
	"lz4",
	"pgzip", "pgzip-best-compression", "pgzip-best-speed",
	"s2-better", "s2-default", "s2-parallel-4", "s2-parallel-8",
	"zstd", "zstd-best-compression", "zstd-better-compression", "zstd-fastest",
}
