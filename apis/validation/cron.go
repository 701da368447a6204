// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kopiur/kopiur/apis/schedule"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// cronSpec checks when something runs. seed is the object's namespace/name, from which a field H follows.
func cronSpec(at *field.Path, c kopiurv1.CronSpec, seed string) Findings {
	var f Findings
	parsed, err := schedule.Parse(c.Cron, seed)
	switch cron := at.Child("cron"); {
	case c.Cron == "":
		f.required(cron, "write five fields, such as 0 3 * * *")
	case err != nil:
		f.invalid(cron, c.Cron, "%s", err)
	case parsed.SubHourly():
		f.warn(cron, "it runs more than once an hour, and each run starts a pod and opens the repository")
	}
	f.Merge(jitter(at.Child("jitter"), c.Jitter))
	f.Merge(timezone(at.Child("timezone"), c.Timezone))
	return f
}

// jitter checks how much runs are spread; "" is one that was left out.
func jitter(at *field.Path, d kopiurv1.Duration) Findings {
	f := duration(at, d, 0)
	if len(f.Errors) > 0 {
		return f
	}
	if _, err := schedule.Jitter(d); err != nil {
		f.invalid(at, d, "write at most %s", short(schedule.MaxJitter))
	}
	return f
}

// timezone checks an IANA name; "" is one that was left out.
func timezone(at *field.Path, s string) Findings {
	var f Findings
	if _, err := schedule.Zone(s); err != nil {
		f.invalid(at, s, "write an IANA name, such as Europe/Berlin, America/New_York or UTC")
	}
	return f
}
