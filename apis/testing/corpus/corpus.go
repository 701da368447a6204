// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus reads the manifests under apis/validation/testdata/corpus: good ones in the shapes that people write, and
// bad ones that begin with what is to be said about them. Whoever judges manifests is held against both.
package corpus

import (
	"fmt"
	"io/fs"
	"strings"
)

// Good is a file of manifests that apply.
type Good struct {
	Name string
	Text []byte
}

// Bad is a file with one object that does not.
type Bad struct {
	Name string
	Text []byte
	// Want is a part of what apis/validation says, "" where only the schema can tell.
	Want string
	// Schema is a part of what an API server says that has the CRDs and no webhook, "" where it says nothing or the same
	// as any API server would (that a field does not exist).
	Schema string
}

const (
	want   = "# want: "
	schema = "# by the schema: "
)

// ReadGood reads the good manifests of a corpus.
func ReadGood(corpus fs.FS) ([]Good, error) {
	files, err := read(corpus, "good")
	if err != nil {
		return nil, err
	}
	var out []Good
	for _, f := range files {
		out = append(out, Good{Name: f.name, Text: f.text})
	}
	return out, nil
}

// ReadBad reads the bad ones. They begin with one or both of these lines:
//
//	# want: a part of what apis/validation says
//	# by the schema: a part of what the API server says
func ReadBad(corpus fs.FS) ([]Bad, error) {
	files, err := read(corpus, "bad")
	if err != nil {
		return nil, err
	}
	var out []Bad
	for _, f := range files {
		b := Bad{Name: f.name, Text: f.text}
		for line := range strings.Lines(string(f.text)) {
			line = strings.TrimSpace(line)
			if text, ok := strings.CutPrefix(line, want); ok {
				b.Want = text
			} else if text, ok := strings.CutPrefix(line, schema); ok {
				b.Schema = text
			} else {
				break
			}
		}
		if b.Want == "" && b.Schema == "" {
			return nil, fmt.Errorf("%s does not begin with %q or %q", f.name, want, schema)
		}
		out = append(out, b)
	}
	return out, nil
}

type file struct {
	name string
	text []byte
}

func read(corpus fs.FS, folder string) ([]file, error) {
	names, err := fs.Glob(corpus, folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list %s manifests: %w", folder, err)
	}
	var out []file
	for _, name := range names {
		text, err := fs.ReadFile(corpus, name)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		out = append(out, file{strings.TrimPrefix(name, folder+"/"), text})
	}
	return out, nil
}
