// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// FutureSkew is how far the clock of whoever writes an annotation may be ahead of ours.
const FutureSkew = 5 * time.Minute

func annotation(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// timestamp checks an annotation whose value is a time. An empty value is one that a template left empty.
func timestamp(annotations map[string]string, key, fix string) Findings {
	var f Findings
	if text := annotations[key]; text != "" {
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			f.invalid(annotation(key), text, "%s", fix)
		}
	}
	return f
}

func repositoryAnnotations(annotations map[string]string) Findings {
	f := timestamp(annotations, kopiurv1.AnnotationAllowMassDeletion,
		"write an RFC 3339 time, such as 2026-03-05T09:00:00Z: deletions up to it are let go, nothing after it")
	f.Merge(timestamp(annotations, kopiurv1.AnnotationReverifyRequestedAt, "write an RFC 3339 time, such as 2026-03-05T09:00:00Z"))
	return f
}

// MassDeletionAck checks when an acknowledgement of held deletions takes effect. One that lies in the future would let
// go deletions that nobody has seen yet.
func MassDeletionAck(annotations map[string]string, now time.Time) Findings {
	var f Findings
	text := annotations[kopiurv1.AnnotationAllowMassDeletion]
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(now.Add(FutureSkew)) {
		f.invalid(annotation(kopiurv1.AnnotationAllowMassDeletion), text,
			"it lies in the future, and would let go deletions that nobody has seen: write the present time, %s", now.UTC().Format(time.RFC3339))
	}
	return f
}

// RunRequest checks the annotations that ask for a run at once. modes are those that the kind knows; without any, a mode
// means nothing to it.
func RunRequest(annotations map[string]string, modes ...string) Findings {
	f := timestamp(annotations, kopiurv1.AnnotationRunRequested, "write an RFC 3339 time, such as 2026-03-05T09:00:00Z; another time asks for another run")
	mode := annotations[kopiurv1.AnnotationRunMode]
	switch at := annotation(kopiurv1.AnnotationRunMode); {
	case mode == "" || slices.Contains(modes, mode):
	case len(modes) == 0:
		f.warn(at, "only a Maintenance has modes; it is passed over")
	default:
		f.invalid(at, mode, "write %s", strings.Join(modes, " or "))
	}
	return f
}
