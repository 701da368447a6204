// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

const (
	// defaultInterval of spec.catalog.refreshInterval.
	defaultInterval = time.Hour
	// shortestInterval is what admission asks for; an object may have been stored without it.
	shortestInterval = 30 * time.Second
	// policiesEvery bounds how often policies can ask: a new cluster makes many at once, and one listing serves them all.
	policiesEvery = time.Minute
)

// Ask is what bears on whether a repository is to be listed.
type Ask struct {
	Spec   *kopiurv1.CatalogSpec
	Status *kopiurv1.CatalogStatus
	// Generation of the repository's spec.
	Generation int64
	// Token is the value of the annotation that asks for a listing.
	Token string
	// PolicyAsked is when a policy last asked for one.
	PolicyAsked time.Time
	// Begun is true where a listing has begun and is not complete, Busy where it is complete and its rows are being made.
	Begun, Busy bool
	// NotBefore is the rest after a mover that listed nothing.
	NotBefore time.Time
}

// Due reports whether the repository is to be listed now, or else when; zero is never.
func Due(a Ask, now time.Time) (after time.Duration, due bool) {
	if a.Busy {
		return 0, false
	}
	at, ok := next(a)
	switch {
	case !ok:
		return 0, false
	case a.NotBefore.After(at):
		at = a.NotBefore
	}
	if wait := at.Sub(now); wait > 0 {
		return wait, false
	}
	return 0, true
}

// next is when the repository may be listed; the zero time is at once.
func next(a Ask) (time.Time, bool) {
	s := a.Status
	last, ok := refreshed(s)
	switch {
	case a.Begun, !ok, s.Generation != a.Generation, Requested(a.Token, s):
		return time.Time{}, true
	case a.PolicyAsked.After(last):
		return last.Add(policiesEvery), true
	case a.Spec != nil && a.Spec.PeriodicRefresh:
		return last.Add(Interval(a.Spec)), true
	default:
		return time.Time{}, false
	}
}

// Requested reports whether a value of the annotation was not honoured yet.
func Requested(token string, s *kopiurv1.CatalogStatus) bool {
	return token != "" && (s == nil || s.ScanRequestHonored != token)
}

// Interval is spec.catalog.refreshInterval.
func Interval(s *kopiurv1.CatalogSpec) time.Duration {
	if s == nil {
		return defaultInterval
	}
	d, err := s.RefreshInterval.Parse(defaultInterval)
	if err != nil {
		return defaultInterval
	}
	return max(d, shortestInterval)
}

// refreshed is when the last listing ended.
func refreshed(s *kopiurv1.CatalogStatus) (time.Time, bool) {
	if s == nil || s.LastRefreshAt == "" {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s.LastRefreshAt)
	return t, err == nil
}

// Fresh reports whether a listing has ended a moment ago.
func Fresh(s *kopiurv1.CatalogStatus, now time.Time) bool {
	last, ok := refreshed(s)
	return ok && now.Sub(last) < fresh
}

const fresh = 5 * time.Second
