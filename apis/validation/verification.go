// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kopiur/kopiur/apis/expr"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// wholeFiles is the share of files that are all of them.
const wholeFiles = 100

// verification checks how a policy's snapshots are verified; nil is what was left out. seed is the policy's
// namespace/name.
func verification(at *field.Path, v *kopiurv1.Verification, seed string) Findings {
	var f Findings
	if v == nil {
		return f
	}
	percent := at.Child("verifyFilesPercent")
	switch {
	case v.Quick == nil && v.Deep == nil && (v.SuccessExpr != "" || v.VerifyFilesPercent != 0):
		f.warn(at, "nothing is verified: write quick.schedule.cron, deep.schedule.cron or both")
	case v.VerifyFilesPercent < 0:
		f.invalid(percent, v.VerifyFilesPercent, "write a number from 0 to 100")
	case v.VerifyFilesPercent > wholeFiles:
		f.warn(percent, "100 are all files already")
	case v.VerifyFilesPercent > 0 && v.Quick == nil:
		f.warn(percent, "it is for quick verification, which is not set")
	}
	f.Merge(successExpr(at.Child("successExpr"), *v))
	if q := v.Quick; q != nil {
		f.Merge(quick(at.Child("quick"), *q, seed))
	}
	if d := v.Deep; d != nil {
		f.Merge(deep(at.Child("deep"), *d, seed))
	}
	return f
}

// successExpr checks the expression for each tier that the policy has.
func successExpr(at *field.Path, v kopiurv1.Verification) Findings {
	var f Findings
	if v.SuccessExpr == "" {
		return f
	}
	var tiers []string
	if v.Quick != nil {
		tiers = append(tiers, expr.TierQuick)
	}
	if v.Deep != nil {
		tiers = append(tiers, expr.TierDeep)
	}
	if _, err := expr.CompileSuccess(v.SuccessExpr, tiers...); err != nil {
		f.invalid(at, v.SuccessExpr, "%s", err)
	}
	return f
}

func quick(at *field.Path, q kopiurv1.QuickVerification, seed string) Findings {
	var f Findings
	if q.Schedule == nil {
		f.required(at.Child("schedule"), "write %s", at.Child("schedule", "cron").String()[len("spec."):])
	} else {
		f.Merge(cronSpec(at.Child("schedule"), *q.Schedule, seed))
	}
	for _, n := range []struct {
		field string
		value int32
	}{
		{"parallel", q.Parallel},
		{"fileParallelism", q.FileParallelism},
		{"fileQueueLength", q.FileQueueLength},
		{"maxErrors", q.MaxErrors},
	} {
		f.Merge(notNegative(at.Child(n.field), &n.value))
	}
	return f
}

func deep(at *field.Path, d kopiurv1.DeepVerification, seed string) Findings {
	f := cronSpec(at.Child("schedule"), d.Schedule, seed)
	f.Merge(quantity(at.Child("capacity"), d.Capacity))
	if d.StorageClassName != "" {
		f.Merge(name(at.Child("storageClassName"), d.StorageClassName))
	}
	f.Merge(notNegative(at.Child("parallel"), &d.Parallel))
	if c := d.Check; c != nil {
		at := at.Child("check")
		f.Merge(present(at.Child("image"), c.Image, "write the image that has the program"))
		f.Merge(duration(at.Child("timeout"), c.Timeout, time.Second))
		f.Merge(resources(at.Child("resources"), c.Resources))
		f.Merge(security(at, c.SecurityContext, nil))
	}
	return f
}

// preflight checks what must be true before a run; nil is what was left out.
func preflight(at *field.Path, p *kopiurv1.Preflight, sources []kopiurv1.Source) Findings {
	var f Findings
	if p == nil {
		return f
	}
	claims := slices.ContainsFunc(sources, func(s kopiurv1.Source) bool { return s.PVC != nil || s.PVCSelector != nil })
	f.Merge(duration(at.Child("timeout"), p.Timeout, 0))
	seen := map[string]bool{}
	for i, c := range p.Checks {
		at := at.Child("checks").Index(i)
		f.Merge(present(at.Child("name"), c.Name, "write a name for the check, which its messages begin with"))
		if len(c.Name) > maxName {
			f.invalid(at.Child("name"), c.Name, "write at most %d characters", maxName)
		}
		if seen[c.Name] {
			f.Errors = append(f.Errors, field.Duplicate(at.Child("name"), c.Name))
		}
		seen[c.Name] = true
		check, err := expr.CompilePreflight(c.Expr)
		switch {
		case err != nil:
			f.invalid(at.Child("expr"), c.Expr, "%s", err)
		case !claims && (slices.Contains(check.Uses(), "pvc") || slices.Contains(check.Uses(), "pods")):
			f.invalid(at.Child("expr"), c.Expr, "none of the sources is a claim, so that pvc and pods are never known and every run would wait: use other variables")
		}
	}
	return f
}
