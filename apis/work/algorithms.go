// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// What the mover's kopia can create a repository with. Another name would be written down for good, and nobody could open
// the repository.
var (
	Hashes = []string{
		"BLAKE2B-256", "BLAKE2B-256-128", "BLAKE2S-128", "BLAKE2S-256", "BLAKE3-256", "BLAKE3-256-128",
		"HMAC-SHA224", "HMAC-SHA256", "HMAC-SHA256-128", "HMAC-SHA3-224", "HMAC-SHA3-256",
	}
	Splitters = []string{
		"DYNAMIC", "DYNAMIC-128K-BUZHASH", "DYNAMIC-128K-RABINKARP", "DYNAMIC-1M-BUZHASH", "DYNAMIC-1M-RABINKARP",
		"DYNAMIC-256K-BUZHASH", "DYNAMIC-256K-RABINKARP", "DYNAMIC-2M-BUZHASH", "DYNAMIC-2M-RABINKARP",
		"DYNAMIC-4M-BUZHASH", "DYNAMIC-4M-RABINKARP", "DYNAMIC-512K-BUZHASH", "DYNAMIC-512K-RABINKARP",
		"DYNAMIC-8M-BUZHASH", "DYNAMIC-8M-RABINKARP",
		"FIXED", "FIXED-128K", "FIXED-1M", "FIXED-256K", "FIXED-2M", "FIXED-4M", "FIXED-512K", "FIXED-8M",
	}
	Encryptions = []string{"AES256-GCM-HMAC-SHA256", "CHACHA20-POLY1305-HMAC-SHA256"}
	ECCs        = []string{"REED-SOLOMON-CRC32"}
)
