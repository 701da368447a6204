// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"encoding/binary"
	"math/rand/v2"
)

// source is a stream of random bytes that belongs to one part of one set.
func source(s Spec, part ...int) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:8], s.Set)
	binary.LittleEndian.PutUint64(key[8:], s.Seed)
	for i, p := range part {
		if i < 2 {
			binary.LittleEndian.PutUint64(key[16+8*i:], uint64(p)) //nolint:gosec // any number will do
		}
	}
	return rand.NewChaCha8(key)
}

func random(s Spec, part ...int) *rand.Rand {
	return rand.New(source(s, part...)) //nolint:gosec // the same bytes for the same seed are the point
}

// words are what the text of the sets is made of. Their number and the way they repeat make it compress like sources do.
var words = []string{
	"return", "err", "if", "func", "nil", "ctx", "context.Context", "error", "string", "int64", "range", "for", "struct",
	"package", "import", "type", "interface", "defer", "select", "case", "switch", "default", "map", "chan", "var", "const",
	"repository", "snapshot", "restore", "policy", "volume", "backup", "content", "index", "blob", "storage", "manifest",
	"options", "result", "request", "response", "client", "server", "handler", "writer", "reader", "buffer", "encoder",
	"decoder", "config", "value", "key", "name", "path", "size", "count", "total", "start", "end", "time", "duration",
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// text fills b with lines of words and numbers.
func text(r *rand.Rand, b []byte) {
	out := b[:0]
	for len(out) < len(b) {
		for range r.IntN(4) {
			out = append(out, '\t')
		}
		for range 2 + r.IntN(9) {
			out = append(out, words[r.IntN(len(words))]...)
			switch r.IntN(8) {
			case 0:
				// What no dictionary has: names and numbers of its own.
				out = append(out, letters[r.IntN(26)], letters[r.IntN(26)], '(')
			case 1:
				out = append(out, ", "...)
			case 2:
				out = append(out, " := "...)
			default:
				out = append(out, ' ')
			}
			if len(out) >= len(b)+64 {
				break
			}
		}
		out = append(out, '\n')
	}
	copy(b, out[:len(b)])
}
