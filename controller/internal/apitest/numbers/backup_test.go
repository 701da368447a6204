// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package numbers_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// requestsOfABackup is budget C6: what one successful backup may ask of the API server.
const requestsOfABackup = 12

// costs leaves out what the budget does: the log that progress is read from.
func costs(list []testenv.Request) []testenv.Request {
	return slices.DeleteFunc(list, func(r testenv.Request) bool { return r.Resource == "pods/log" })
}

// TestRequestsOfABackup is the short form of budget C6: Direct, no hooks. Whether a starting mover is seen on its way
// depends on how quick it is, so the count is a bound and is told in full.
func TestRequestsOfABackup(t *testing.T) { //nolint:paralleltest // it goes by what the whole process looks at
	l := newLab(t)
	l.claim(l.Namespace)
	nas := l.repository(l.Namespace, "nas")
	web := l.policy(nas, "web")
	asked := l.Audit()
	l.StartController()
	l.is(nas, kopiurv1.ConditionReady, metav1.ConditionTrue)
	l.is(web, kopiurv1.ConditionReady, metav1.ConditionTrue)
	l.still(asked, 2*time.Second)
	for _, name := range []string{"first", "second", "third"} {
		asked = l.Audit()
		s := l.snapshots(web, name, 1)[0]
		l.is(s, kopiurv1.ConditionReady, metav1.ConditionTrue)
		l.still(asked, 2*time.Second)
		list := costs(asked.Requests())
		t.Logf("%s backup: %d requests: %s", name, len(list), testenv.Told(testenv.Tally(list)))
		assert.LessOrEqual(t, len(list), requestsOfABackup, "%s backup", name)
	}
}
