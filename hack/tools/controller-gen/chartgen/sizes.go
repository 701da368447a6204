// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Budget A1. One CRD as JSON must also fit the annotation of a client-side apply (262,144 bytes) with room to spare.
const (
	maxOne  = 100_000
	maxAll  = 400_000
	maxGzip = 60_000
)

func checkSizes(w io.Writer, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	var errs []error
	all, bundle := 0, &bytes.Buffer{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		doc, err := yaml.YAMLToJSON(raw)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		fmt.Fprintf(w, "  %7d  %s\n", len(doc), filepath.Base(file))
		if len(doc) > maxOne {
			errs = append(errs, fmt.Errorf("%s has %d bytes as JSON, more than %d", filepath.Base(file), len(doc), maxOne))
		}
		all += len(doc)
		bundle.WriteString("---\n")
		bundle.Write(raw)
	}
	zipped := &bytes.Buffer{}
	zw, err := gzip.NewWriterLevel(zipped, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zw.Write(bundle.Bytes()); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	fmt.Fprintf(w, "  %7d  all, %d gzipped\n", all, zipped.Len())
	if all > maxAll {
		errs = append(errs, fmt.Errorf("all CRDs have %d bytes as JSON, more than %d", all, maxAll))
	}
	if zipped.Len() > maxGzip {
		errs = append(errs, fmt.Errorf("the gzipped bundle has %d bytes, more than %d", zipped.Len(), maxGzip))
	}
	return errors.Join(errs...)
}
