// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// maxMessage keeps a condition readable in kubectl describe; the API's own limit is 32 KiB.
const maxMessage = 2048

// order of the conditions that people look for first; the rest follows by name.
var order = map[string]int{
	kopiurv1.ConditionReady: 1, kopiurv1.ConditionReconciling: 2,
	kopiurv1.ConditionStalled: 3, kopiurv1.ConditionSuspended: 4,
}

// Conditions collects what one reconcile found out. It starts empty.
type Conditions struct {
	set map[string]metav1.Condition
}

// True sets a condition to True.
func (c *Conditions) True(kind, reason, format string, args ...any) {
	c.put(kind, metav1.ConditionTrue, reason, format, args...)
}

// False sets a condition to False.
func (c *Conditions) False(kind, reason, format string, args ...any) {
	c.put(kind, metav1.ConditionFalse, reason, format, args...)
}

// Unknown sets a condition to Unknown.
func (c *Conditions) Unknown(kind, reason, format string, args ...any) {
	c.put(kind, metav1.ConditionUnknown, reason, format, args...)
}

// Has reports whether the condition was set in this reconcile.
func (c *Conditions) Has(kind string) bool {
	_, ok := c.set[kind]
	return ok
}

// Get returns what was set in this reconcile, or the zero value.
func (c *Conditions) Get(kind string) metav1.Condition { return c.set[kind] }

// Drop forgets a condition that was set in this reconcile.
func (c *Conditions) Drop(kind string) { delete(c.set, kind) }

func (c *Conditions) put(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	c.restore(metav1.Condition{Type: kind, Status: status, Reason: reason, Message: clip(message, maxMessage)})
}

func (c *Conditions) restore(cond metav1.Condition) {
	if c.set == nil {
		c.set = map[string]metav1.Condition{}
	}
	c.set[cond.Type] = cond
}

// summary sets the three conditions that kstatus reads, consistently.
func (c *Conditions) summary(state summaryState, reason, message string) {
	c.put(kopiurv1.ConditionReady, boolStatus(state == stateReady), reason, "%s", message)
	c.put(kopiurv1.ConditionReconciling, boolStatus(state == stateProgressing), reason, "%s", message)
	c.put(kopiurv1.ConditionStalled, boolStatus(state == stateStalled), reason, "%s", message)
}

type summaryState int

const (
	stateReady summaryState = iota
	stateProgressing
	stateStalled
)

func boolStatus(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// render is the list to store: everything that was set, in a fixed order, with the transition time of before where the
// status is the same. The time alone never makes a difference, or every reconcile would be a write.
func (c *Conditions) render(before []metav1.Condition, generation int64, now metav1.Time) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(c.set))
	for _, cond := range c.set {
		cond.ObservedGeneration = generation
		cond.LastTransitionTime = now
		if old := find(before, cond.Type); old != nil && old.Status == cond.Status {
			cond.LastTransitionTime = old.LastTransitionTime
		}
		out = append(out, cond)
	}
	slices.SortFunc(out, func(a, b metav1.Condition) int {
		if x, y := rank(a.Type), rank(b.Type); x != y {
			return x - y
		}
		return strings.Compare(a.Type, b.Type)
	})
	return out
}

func rank(kind string) int {
	if n, ok := order[kind]; ok {
		return n
	}
	return len(order) + 1
}

func find(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// IsTrue reports whether a stored condition is True.
func IsTrue(list []metav1.Condition, kind string) bool {
	c := find(list, kind)
	return c != nil && c.Status == metav1.ConditionTrue
}

// IsFalse reports whether a stored condition is False; an absent one is not.
func IsFalse(list []metav1.Condition, kind string) bool {
	c := find(list, kind)
	return c != nil && c.Status == metav1.ConditionFalse
}
