// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IdentityPart refuses what cannot be the username or hostname of an identity, username@hostname:path.
func IdentityPart(s string) error {
	switch {
	case s == "":
		return errors.New("a username or hostname must not be empty")
	case !utf8.ValidString(s), strings.ContainsFunc(s, func(r rune) bool {
		return r == '@' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r)
	}):
		return fmt.Errorf("%q cannot be a username or hostname: it must not contain @, :, white space or control characters", s)
	}
	return nil
}
