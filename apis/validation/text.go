// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxParallel bounds how much a mover does at once.
const maxParallel = 256

// printable checks a text that kopia files things under; "" is one that was left out.
func printable(at *field.Path, s string) Findings {
	var f Findings
	if strings.ContainsFunc(s, unicode.IsControl) {
		f.invalid(at, s, "it has a control character, such as a line break: leave it out")
	}
	return f
}

// identityPart checks the username or hostname of an identity, username@hostname:path.
func identityPart(at *field.Path, s string) Findings {
	f := present(at, s, "write it as kopia snapshot list shows it: username@hostname:path")
	if strings.ContainsAny(s, "@:") || strings.ContainsFunc(s, unicode.IsSpace) || strings.ContainsFunc(s, unicode.IsControl) {
		f.invalid(at, s, "write it without @, : and spaces: username, hostname and sourcePath are fields of their own")
	}
	return f
}

// below checks a path inside of something: relative, and not out of it.
func below(at *field.Path, s string) Findings {
	f := printable(at, s)
	switch {
	case strings.Trim(s, "/") == "":
		f.invalid(at, s, "leave it out for all of the snapshot")
	case strings.HasPrefix(s, "/"):
		f.invalid(at, s, "write it relative to the top of the snapshot: %s", strings.TrimLeft(s, "/"))
	case slices.Contains(strings.Split(s, "/"), ".."):
		f.invalid(at, s, "write it without ..")
	}
	return f
}
