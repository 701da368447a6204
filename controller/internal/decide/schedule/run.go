// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// fire makes the Snapshots of a run. Each policy is for itself: one that hangs must not hold up forty others.
func (d *decision) fire(n pin, active []*kopiurv1.SnapshotPolicy) {
	p := d.p
	for _, pol := range active {
		skip, victims := d.concurrency(pol, n.slot)
		if skip != "" {
			p.Skips = append(p.Skips, Skip{Policy: pol.Name, Why: skip})
			continue
		}
		list, refusal := expand.Run(pol, d.model(pol, n.slot), d.w.Claims)
		if refusal != nil {
			p.Skips = append(p.Skips, Skip{Policy: pol.Name, Why: refusal.Message})
			continue
		}
		p.Replace = append(p.Replace, victims...)
		p.Create = append(p.Create, list...)
	}
	if len(p.Create) > 0 {
		p.Slot, p.Last = n.slot, d.slot(n)
	}
}

// concurrency says why a policy is left out of a run, or which of its Snapshots go before it.
func (d *decision) concurrency(pol *kopiurv1.SnapshotPolicy, slot time.Time) (skip string, victims []*kopiurv1.Snapshot) {
	for _, c := range d.w.Children {
		if c.Spec.PolicyRef == nil || c.Spec.PolicyRef.Name != pol.Name || childSlot(c).Equal(slot) || !underWay(c) {
			continue
		}
		switch {
		case !begun(c):
			return fmt.Sprintf("Snapshot %s waits and has not begun; it stands for this run", c.Name), nil
		case d.w.Schedule.Spec.Schedule.ConcurrencyPolicy == kopiurv1.ConcurrencyReplace:
			victims = append(victims, c)
		case d.w.Schedule.Spec.Schedule.ConcurrencyPolicy == kopiurv1.ConcurrencyAllow:
		default:
			return fmt.Sprintf("Snapshot %s has not ended, and concurrencyPolicy is Forbid", c.Name), nil
		}
	}
	return "", victims
}

// underWay reports whether a Snapshot will still make a backup.
func underWay(s *kopiurv1.Snapshot) bool {
	return s.DeletionTimestamp == nil && !s.Status.Phase.Terminal() && s.Status.Phase != kopiurv1.SnapshotDeleting
}

// begun reports whether anything was done for a Snapshot: until then it would read the same data as a later one.
func begun(s *kopiurv1.Snapshot) bool {
	return s.Status.Job != nil || s.Status.Staged != nil || s.Status.Hooks != nil || s.Status.Phase == kopiurv1.SnapshotRunning
}

// longestPrefix of a Snapshot's name: with the time behind it, it fits into a label.
const longestPrefix = 40

// model is what the Snapshots of one policy's run have in common.
func (d *decision) model(pol *kopiurv1.SnapshotPolicy, slot time.Time) *kopiurv1.Snapshot {
	s := d.w.Schedule
	name := []string{strings.TrimRight(s.Name[:min(len(s.Name), longestPrefix)], "-."), slot.UTC().Format("20060102-150405")}
	if s.Spec.PolicySelector != nil {
		name = append(name, pol.Name)
	}
	label := kopiurv1.LabelValue(pol.Name)
	return &kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      kopiurv1.LabelValue(strings.Join(name, "-")),
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelSchedule: kopiurv1.LabelValue(s.Name),
				kopiurv1.LabelOrigin: kopiurv1.OriginScheduled, kopiurv1.LabelConfig: label, kopiurv1.LabelPolicy: label,
			},
			Annotations: map[string]string{kopiurv1.AnnotationScheduleSlot: Stamp(slot)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kopiurv1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: s.Name, UID: s.UID, Controller: new(true),
			}},
		},
		Spec: kopiurv1.SnapshotSpec{
			PolicyRef: &kopiurv1.PolicyRef{Name: pol.Name}, OnScheduleDelete: onDelete(s),
		},
	}
}

// OtherName is what a Snapshot is called where somebody else's has its name.
func OtherName(s *kopiurv1.Snapshot) string {
	sum := sha256.Sum256([]byte(s.OwnerReferences[0].UID))
	return kopiurv1.LabelValue(s.Name + "-" + hex.EncodeToString(sum[:4]))
}

func onDelete(s *kopiurv1.SnapshotSchedule) kopiurv1.CascadePolicy {
	if d := s.Spec.Deletion; d != nil && d.OnScheduleDelete != "" {
		return d.OnScheduleDelete
	}
	return kopiurv1.CascadeRetain
}

// cascade finds the Snapshots that say something else than the schedule about what becomes of them without it.
func cascade(p *Plan, w World) {
	p.OnScheduleDelete = onDelete(w.Schedule)
	for _, c := range w.Children {
		if c.DeletionTimestamp != nil || c.Spec.OnScheduleDelete == p.OnScheduleDelete {
			continue
		}
		if c.Status.Phase == kopiurv1.SnapshotFailed && c.Status.Timing == nil {
			continue // it has stored nothing, and an edit would try it again
		}
		p.Propagate = append(p.Propagate, c)
	}
}
