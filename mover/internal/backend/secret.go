// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mitchellh/mapstructure"

	"github.com/kopiur/kopiur/apis/work"
)

// s3Keys are the keys of an S3 credential Secret. This file is the only one that maps Secrets into structs.
type s3Keys struct {
	AccessKeyID     string `mapstructure:"AWS_ACCESS_KEY_ID"`
	SecretAccessKey string `mapstructure:"AWS_SECRET_ACCESS_KEY"`
	SessionToken    string `mapstructure:"AWS_SESSION_TOKEN"`
}

// decodeS3 maps a Secret. Other keys may be in it: people keep the repository's password beside its credentials. A key
// that is missing is an error, and names what is there instead, because it is usually a matter of spelling.
func decodeS3(values map[string]string) (s3Keys, error) {
	var keys s3Keys
	if err := decode(values, &keys, work.KeyAWSSessionToken); err != nil {
		return s3Keys{}, err
	}
	return keys, nil
}

func decode(values map[string]string, into any, optional ...string) error {
	var md mapstructure.Metadata
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: into, Metadata: &md, MatchName: func(a, b string) bool { return a == b }})
	if err != nil {
		return fmt.Errorf("map a Secret: %w", err)
	}
	if err := d.Decode(values); err != nil {
		return errors.New("map a Secret: a value has the wrong type") // mapstructure's text quotes values
	}
	slices.Sort(md.Unset)
	for _, key := range md.Unset {
		if !slices.Contains(optional, key) {
			return &KeyError{Object: authObject, Key: key, Problem: "is missing" + names(md.Unused)}
		}
	}
	for _, key := range md.Keys {
		v := values[key]
		switch {
		case v == "" && !slices.Contains(optional, key):
			return &KeyError{Object: authObject, Key: key, Problem: "is empty"}
		case strings.ContainsFunc(v, unicode.IsSpace):
			return &KeyError{Object: authObject, Key: key, Problem: "contains white space, often a newline at its end; no such key has any"}
		}
	}
	return nil
}

// readObject reads all keys of a mounted Secret.
func readObject(dir, object string) (map[string]string, error) {
	keys, err := keysOf(dir)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", object, err)
	}
	values := make(map[string]string, len(keys))
	for _, k := range keys {
		b, err := os.ReadFile(filepath.Join(dir, k))
		if err != nil {
			return nil, fmt.Errorf("read key %s of the %s: %w", k, object, err)
		}
		values[k] = string(b)
	}
	return values, nil
}

// keysOf lists a mounted object. The kubelet keeps its own entries there, which begin with two dots. A folder that is
// not there is an object that does not exist: it is mounted as optional.
func keysOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers say of what
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !e.IsDir() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

func has(dir string) string {
	keys, err := keysOf(dir)
	if err != nil {
		return ""
	}
	return names(keys)
}

func names(keys []string) string {
	if len(keys) == 0 {
		return "; the object does not exist or has no other keys"
	}
	slices.Sort(keys)
	return "; it has " + strings.Join(keys, ", ")
}

// TrailingSpace names what is at the end of a password that nobody types on purpose, "" for nothing.
func TrailingSpace(password string) string {
	trimmed := strings.TrimRightFunc(password, unicode.IsSpace)
	switch {
	case trimmed == password:
		return ""
	case strings.HasSuffix(password, "\n"):
		return "a newline"
	default:
		return "white space"
	}
}

// PasswordKeyError names the password's key with a problem.
func PasswordKeyError(key, problem string) error {
	if key == "" {
		key = work.DefaultPasswordKey
	}
	return &KeyError{Object: passwordObject, Key: key, Problem: problem}
}

// GoodPassword refuses to create a repository with a password that ends in white space: nobody would think of it when
// typing the password years later.
func GoodPassword(key, password string) error {
	if space := TrailingSpace(password); space != "" {
		return PasswordKeyError(key, "ends in "+space+"; a repository is not created with it, "+
			"because nobody would think of it when typing the password years later")
	}
	return nil
}
