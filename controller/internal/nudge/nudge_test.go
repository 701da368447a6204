// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package nudge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/nudge"
)

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	down := moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Code: work.CodeRepositoryUnavailable}}
	for name, tc := range map[string]struct {
		outcome moverjob.Outcome
		phase   kopiurv1.RepositoryPhase
		asked   string
		want    bool
	}{
		"a mover that could not reach the store":      {down, kopiurv1.RepositoryReady, "", true},
		"one that failed otherwise":                   {moverjob.Outcome{Result: &work.Result{Code: work.CodePermissionDenied}}, kopiurv1.RepositoryReady, "", false},
		"one that succeeded":                          {moverjob.Outcome{Result: &work.Result{Code: work.CodeOK}}, kopiurv1.RepositoryReady, "", false},
		"one without a result":                        {moverjob.Outcome{State: moverjob.DeadlineKilled}, kopiurv1.RepositoryReady, "", false},
		"a repository that is looked at already":      {down, kopiurv1.RepositoryDegraded, "", false},
		"a second within the minute":                  {down, kopiurv1.RepositoryReady, at(-59 * time.Second), false},
		"a second after it":                           {down, kopiurv1.RepositoryReady, at(-time.Minute), true},
		"a question of a clock that is ahead":         {down, kopiurv1.RepositoryReady, at(30 * time.Second), false},
		"a question that somebody dated next year":    {down, kopiurv1.RepositoryReady, at(8760 * time.Hour), true},
		"a question that is no time asks for nothing": {down, kopiurv1.RepositoryReady, "please", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, nudge.Due(tc.outcome, tc.phase, tc.asked, now))
		})
	}
}
