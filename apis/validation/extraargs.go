// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// argument is a flag of "kopia snapshot create" that stands for a field.
type argument struct {
	// field that it stands for.
	field string
	// least and most of a number; both zero for a switch.
	least, most int64
	// set is whether the field has a value already.
	set func(*kopiurv1.SnapshotPolicySpec) bool
	// put gives the field the value; of a switch 0 or 1.
	put func(*kopiurv1.SnapshotPolicySpec, int64)
}

// arguments are the flags that spec.extraArgs may have. There is no command line that any other could be added to.
var arguments = map[string]argument{
	"parallel": {
		field: "upload.maxParallelFileReads", least: 1, most: 256,
		set: func(s *kopiurv1.SnapshotPolicySpec) bool {
			return s.Upload != nil && s.Upload.MaxParallelFileReads != 0
		},
		put: func(s *kopiurv1.SnapshotPolicySpec, n int64) { upload(s).MaxParallelFileReads = int32(n) },
	},
	"upload-limit-mb": {
		field: "upload.limitMb", least: 0, most: 1 << 50,
		set: func(s *kopiurv1.SnapshotPolicySpec) bool { return s.Upload != nil && s.Upload.LimitMB != 0 },
		put: func(s *kopiurv1.SnapshotPolicySpec, n int64) { upload(s).LimitMB = n },
	},
	"fail-fast": {
		field: "errorHandling.failFast",
		set:   func(s *kopiurv1.SnapshotPolicySpec) bool { return s.ErrorHandling != nil && s.ErrorHandling.FailFast },
		put: func(s *kopiurv1.SnapshotPolicySpec, n int64) {
			if s.ErrorHandling == nil {
				s.ErrorHandling = &kopiurv1.ErrorHandling{}
			}
			s.ErrorHandling.FailFast = n == 1
		},
	},
}

// elsewhere says what to write in place of flags that people are used to.
var elsewhere = map[string]string{
	"description": "write the Snapshot's spec.description",
	"tags":        "write the Snapshot's spec.tags",
	"pin":         "write the Snapshot's spec.pin: true",
	"compression": "write spec.compression.compressor",
	"add-ignore":  "write spec.files.ignoreRules",
	"stdin-file":  "write a source with stream",
	"all":         "write each source into spec.sources",
	"fail-first":  "write --fail-fast",
}

func upload(s *kopiurv1.SnapshotPolicySpec) *kopiurv1.Upload {
	if s.Upload == nil {
		s.Upload = &kopiurv1.Upload{}
	}
	return s.Upload
}

// extraArgs checks the flags.
func extraArgs(at *field.Path, s *kopiurv1.SnapshotPolicySpec) Findings {
	_, f := withExtraArgs(at, *s)
	return f
}

// WithExtraArgs is a policy's spec in which the fields have the values that spec.extraArgs gives them. What it cannot
// read it leaves out: SnapshotPolicy has refused it.
func WithExtraArgs(s kopiurv1.SnapshotPolicySpec) kopiurv1.SnapshotPolicySpec {
	out, _ := withExtraArgs(field.NewPath("spec", "extraArgs"), s)
	return out
}

func withExtraArgs(at *field.Path, s kopiurv1.SnapshotPolicySpec) (kopiurv1.SnapshotPolicySpec, Findings) {
	var f Findings
	if len(s.ExtraArgs) == 0 {
		return s, f
	}
	out := *s.DeepCopy()
	given := map[string]bool{}
	for i := 0; i < len(s.ExtraArgs); i++ {
		at, text := at.Index(i), s.ExtraArgs[i]
		flag, value, joined := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		flag, negated := strings.CutPrefix(flag, "no-")
		arg, known := arguments[flag]
		number := arg.most > 0
		switch {
		case !strings.HasPrefix(text, "--"):
			f.invalid(at, text, "write a flag with two dashes, such as --parallel=8")
			continue
		case !known || negated && number:
			// By its name alone: its value may be a password.
			f.forbidden(at, "%s", unknownFlag(strings.TrimPrefix(text, "--")))
			continue
		case given[flag]:
			f.forbidden(at, "--%s is given twice: keep one of them", flag)
			continue
		case arg.set(&s):
			f.forbidden(at, "--%s stands for spec.%s, which is set: keep one of them", flag, arg.field)
			continue
		}
		given[flag] = true
		if number && !joined && i+1 < len(s.ExtraArgs) && !strings.HasPrefix(s.ExtraArgs[i+1], "-") {
			i++
			value, joined = s.ExtraArgs[i], true
		}
		n, ok := arg.number(value, joined, negated)
		if !ok {
			f.invalid(at, text, "%s", arg.usage(flag))
			continue
		}
		arg.put(&out, n)
	}
	out.ExtraArgs = nil
	return out, f
}

// number reads the value of a flag.
func (a argument) number(value string, given, negated bool) (int64, bool) {
	if a.most == 0 {
		on := !negated && (!given || value == "true")
		off := negated && !given || !negated && given && value == "false"
		if on {
			return 1, true
		}
		return 0, off
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil && given && n >= a.least && n <= a.most
}

func (a argument) usage(flag string) string {
	if a.most == 0 {
		return "write --" + flag + " without a value, or better spec." + a.field
	}
	return "write --" + flag + "= and a number from " + strconv.FormatInt(a.least, 10) + " to " + strconv.FormatInt(a.most, 10) + ", or better spec." + a.field
}

func unknownFlag(flag string) string {
	flag, _, _ = strings.Cut(flag, "=")
	if fix, ok := elsewhere[flag]; ok {
		return "--" + flag + " is not taken here: " + fix
	}
	return "--" + flag + " is not taken here: of kopia's flags only --parallel, --upload-limit-mb and --fail-fast are, and spec has fields for what else there is"
}
