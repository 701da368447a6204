// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// storing checks which files are stored, and how.
func storing(at *field.Path, s *kopiurv1.SnapshotPolicySpec) Findings {
	var f Findings
	if c := s.Compression; c != nil {
		f.Merge(compression(at.Child("compression"), *c))
	}
	if files := s.Files; files != nil {
		rules := at.Child("files", "ignoreRules")
		for i, r := range files.IgnoreRules {
			if strings.ContainsFunc(r, unicode.IsControl) {
				f.invalid(rules.Index(i), r, "write one rule per entry, without line breaks and other control characters")
			}
		}
	}
	if e := s.ErrorHandling; e != nil && e.FailFast && (e.IgnoreFileErrors || e.IgnoreDirErrors) {
		f.warn(at.Child("errorHandling", "failFast"), "it ends the run at the first entry that cannot be read, also where ignoreFileErrors or ignoreDirErrors would tolerate it: remove one of them")
	}
	if u := s.Upload; u != nil {
		at := at.Child("upload")
		f.Merge(notNegative(at.Child("maxParallelSnapshots"), &u.MaxParallelSnapshots))
		f.Merge(notNegative(at.Child("maxParallelFileReads"), &u.MaxParallelFileReads))
		if u.LimitMB < 0 {
			f.invalid(at.Child("limitMb"), u.LimitMB, "write 0 or more; 0 is no limit")
		}
	}
	f.Merge(extraArgs(at.Child("extraArgs"), s))
	return f
}

func compression(at *field.Path, c kopiurv1.Compression) Findings {
	var f Findings
	if c.Compressor != "" && !slices.Contains(work.Compressors, c.Compressor) {
		f.Errors = append(f.Errors, field.NotSupported(at.Child("compressor"), c.Compressor, work.Compressors))
	}
	for i, s := range c.NeverCompress {
		if !strings.HasPrefix(s, ".") {
			f.warn(at.Child("neverCompress").Index(i), "%q is no ending of a file name: write it with its dot, such as .jpg", s)
		}
	}
	return f
}

// policyIdentity checks the parts of username@hostname:path; what is left out follows from the policy's own names.
func policyIdentity(at *field.Path, i *kopiurv1.PolicyIdentity) Findings {
	var f Findings
	if i == nil {
		return f
	}
	for _, part := range []struct{ field, value string }{{"username", i.Username}, {"hostname", i.Hostname}} {
		if part.value != "" {
			f.Merge(identityPart(at.Child(part.field), part.value))
		}
	}
	return f
}
