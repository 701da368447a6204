// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestCronSpec(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cron              kopiurv1.CronSpec
		wantErr, wantWarn string
	}{
		"every night":                        {cron: kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "30m", Timezone: "Europe/Berlin"}},
		"at an hour that follows from names": {cron: kopiurv1.CronSpec{Cron: "H H * * *"}},
		"a day of jitter":                    {cron: kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "24h"}},
		"no expression":                      {cron: kopiurv1.CronSpec{}, wantErr: `at.cron: Required value: write five fields`},
		"six fields":                         {cron: kopiurv1.CronSpec{Cron: "0 0 3 * * *"}, wantErr: `at.cron: Invalid value: "0 0 3 * * *": `},
		"more than a day of jitter":          {cron: kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "25h"}, wantErr: `at.jitter: Invalid value: "25h": write at most 24h`},
		"a jitter in days":                   {cron: kopiurv1.CronSpec{Cron: "0 3 * * *", Jitter: "1d"}, wantErr: "days are not a unit"},
		"an offset for a time zone":          {cron: kopiurv1.CronSpec{Cron: "0 3 * * *", Timezone: "UTC+2"}, wantErr: `at.timezone: Invalid value: "UTC+2": write an IANA name`},
		"every quarter of an hour":           {cron: kopiurv1.CronSpec{Cron: "*/15 * * * *"}, wantWarn: "at.cron: it runs more than once an hour"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, cronSpec(field.NewPath("at"), tc.cron, "apps/web"), tc.wantErr, tc.wantWarn)
		})
	}
}
