// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/decide/slots"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// sourceDeadline is how long a Snapshot waits for its claim to appear.
const sourceDeadline = 30 * time.Minute

// refusalRecheck is how often a source that cannot be staged as things are is looked at again: classes and CRDs are not
// watched.
const refusalRecheck = time.Minute

// walk passes the gates one by one and collects their conditions.
type walk struct {
	w       World
	now     time.Time
	attempt int32
	p       Plan
	done    bool
}

func (g *walk) pass(kind, reason, format string, args ...any) {
	g.p.Conditions = append(g.p.Conditions, condition(kind, true, reason, fmt.Sprintf(format, args...)))
}

// hold stops at a gate. kind may be empty where only the summary tells of it.
func (g *walk) hold(kind, reason string, after time.Duration, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if kind != "" {
		c := condition(kind, false, reason, message)
		if g.p.Reopened {
			// False since the earlier failure: the next turn sets it again, and with it the clock of its deadline.
			c.Status = metav1.ConditionUnknown
		}
		g.p.Conditions = append(g.p.Conditions, c)
	}
	g.p.Action, g.p.Phase = Wait, kopiurv1.SnapshotPending
	g.p.Reason, g.p.Message, g.p.After = reason, message, after
	g.done = true
}

func (g *walk) fail(kind, op, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if kind != "" {
		g.p.Conditions = append(g.p.Conditions, condition(kind, false, reason, message))
	}
	g.p = fail(g.p, op, reasoned{reason, message})
	g.done = true
}

func (g *walk) ask(a Ask) bool {
	if g.w.asked(a) {
		return false
	}
	g.p, g.done = Plan{Ask: a}, true
	return true
}

// gate decides what an attempt without a Job waits for.
func gate(w World, attempt int32, now time.Time) Plan {
	g := &walk{w: w, now: now, attempt: attempt, p: Plan{Attempt: attempt, Reopened: Reopens(w.Snapshot)}}
	// What holds a run in the first list holds it before anything has happened.
	for _, pass := range []func(){g.policy, g.repository, g.identity, g.preflight, g.credentials, g.source, g.inherit, g.privilege, g.use, g.history} {
		pass()
		if g.done {
			return g.frozen()
		}
	}
	for _, pass := range []func(){g.others, g.together, g.slot, g.node, g.hooks, g.staging} {
		pass()
		switch {
		case g.done && g.p.Reason == kopiurv1.ReasonStagingNameTaken:
			return g.frozen() // somebody has to free the name
		case g.done:
			return g.p
		}
	}
	return g.p
}

// frozen ends a run instead of letting it wait, where its hooks have run: the application must not stay frozen until
// somebody mends a repository.
func (g *walk) frozen() Plan {
	if g.p.Ask != 0 || g.p.Action != Wait || !Owes(g.w.Snapshot) || g.p.Reopened {
		return g.p
	}
	p := fail(g.p, OpPrepare, reasoned{g.p.Reason, g.p.Message + "; the hooks before the snapshot have run, so the run ends instead of waiting"})
	p.After = 0
	return p
}

func (g *walk) policy() {
	s, pol := g.w.Snapshot, g.w.Policy
	ref := s.Spec.PolicyRef
	if refusal := validation.Guard(s); refusal.Refused() {
		g.fail("", OpPrepare, refusal.Reason, "%s", refusal.Message)
		return
	}
	switch {
	case ref == nil:
		g.fail("", OpPrepare, kopiurv1.ReasonInvalidSpec, "spec.policyRef is not set: name the SnapshotPolicy that says what to back up")
		return
	case pol == nil || pol.DeletionTimestamp != nil:
		g.hold("", kopiurv1.ReasonMissingDependency, 0, "SnapshotPolicy %s/%s does not exist", s.Namespace, ref.Name)
		return
	case pol.Spec.Suspend && !g.begun():
		g.p.Conditions = append(g.p.Conditions, condition(kopiurv1.ConditionSuspended, true, kopiurv1.ReasonSuspended, "SnapshotPolicy "+pol.Name+" is suspended"))
		g.hold("", kopiurv1.ReasonSuspended, 0, "SnapshotPolicy %s is suspended: set its spec.suspend to false to go on", pol.Name)
		return
	}
	if refusal := validation.Guard(pol); refusal.Refused() {
		g.hold("", refusal.Reason, 0, "SnapshotPolicy %s: %s", pol.Name, refusal.Message)
		return
	}
	if errs := validation.SnapshotOfPolicy(s, pol).Errors; len(errs) > 0 {
		g.fail("", OpPrepare, kopiurv1.ReasonInvalidSpec, "%s", errs[0])
	}
}

// SourceOf is the source that a Snapshot means, the zero value where it means none. A selector stands for the one claim that
// the Snapshot names.
func SourceOf(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) kopiurv1.Source {
	i := 0
	if s.Spec.Source != nil {
		i = int(s.Spec.Source.SourceIndex)
	}
	if p == nil || i < 0 || i >= len(p.Spec.Sources) {
		return kopiurv1.Source{}
	}
	out := p.Spec.Sources[i]
	if out.PVCSelector != nil && s.Spec.Source != nil && s.Spec.Source.Target != nil {
		out.PVC = &kopiurv1.LocalRef{Name: s.Spec.Source.Target.PVC.Name}
	}
	return out
}

func (g *walk) repository() {
	const kind = kopiurv1.ConditionRepositoryReady
	s, r := g.w.Snapshot, g.w.Repository
	ref := RepositoryOf(s, g.w.Policy)
	if r == nil {
		g.hold(kind, kopiurv1.ReasonMissingDependency, 0, "%s does not exist", ref)
		return
	}
	if r.Spec.Mode == kopiurv1.ModeReadOnly {
		g.hold(kopiurv1.ConditionRepositoryWritable, kopiurv1.ReasonRepositoryReadOnly, 0, "%s has mode ReadOnly and takes no snapshots: use another repository, or set its mode to ReadWrite", ref)
		return
	}
	if r.Allowed != nil {
		if r.Allowed.Selector != nil && g.ask(AskNamespace) {
			return
		}
		var labels map[string]string
		if g.w.Namespace != nil {
			labels = g.w.Namespace.Labels
		}
		if !r.Allowed.Allows(s.Namespace, labels) {
			g.hold(kind, kopiurv1.ReasonNamespaceNotAllowed, 0, "%s does not allow namespace %s: its owner adds it to spec.allowedNamespaces", ref, s.Namespace)
			return
		}
	}
	if v := gates.Repository(ref.String(), r, true); !v.Open {
		message := v.Message
		if ready := find(r.Status.Conditions, kopiurv1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue && r.Status.Phase != kopiurv1.RepositoryReady {
			message += ": " + ready.Message
		}
		g.hold(kind, v.Reason, 0, "%s", message)
		return
	}
	if errs := validation.Publication(g.w.Policy, r.Spec).Errors; len(errs) > 0 {
		g.hold("", kopiurv1.ReasonInvalidSpec, 0, "SnapshotPolicy %s: %s", g.w.Policy.Name, errs[0])
		return
	}
	if v := g.w.RepositoryVolume; !v.Open {
		g.hold(kind, v.Reason, 0, "%s", v.Message)
		return
	}
	g.pass(kind, kopiurv1.ReasonRepositoryReady, "%s is Ready", ref)
}

// identity keeps a policy from filing its snapshots where nothing finds them again, or where another policy's are. The
// policy's own conditions say the same; they may be a moment behind an edit.
func (g *walk) identity() {
	id, fault := IdentityOf(g.w)
	r := g.w.Repository
	if !fault.Found() {
		rule, _ := policy.Rule(r.Ref, r.Spec.IdentityDefaults)
		fault = policy.Collides(g.w.Policy, r.Ref, rule, id, []string{id.SourcePath}, g.w.Others, g.w.Selected)
	}
	if !fault.Found() {
		allowed := r.AllowIdentityChange || g.w.Policy.Annotations[kopiurv1.AnnotationAllowIdentityChange] != ""
		fault = policy.Forked(g.w.History, id, ResolvedOf(g.w.Snapshot, g.w.Policy).Sources[0].PVC, allowed)
	}
	if fault.Found() {
		g.hold("", fault.Reason, 0, "SnapshotPolicy %s: %s", g.w.Policy.Name, fault.Message)
	}
}

func (g *walk) credentials() {
	const kind = kopiurv1.ConditionCredentialsAvailable
	if v := g.w.Credentials; !v.Open {
		var after time.Duration
		if g.w.Repository.Projected != "" {
			after = neighbourRecheck // Secrets of another namespace wake nobody here
		}
		g.hold(kind, v.Reason, after, "%s", v.Message)
		return
	}
	g.pass(kind, g.w.Credentials.Reason, "%s", g.w.Credentials.Message)
}

func (g *walk) source() {
	const kind = kopiurv1.ConditionSourcePVCAvailable
	src := SourceOf(g.w.Snapshot, g.w.Policy)
	switch {
	case src.NFS != nil:
		g.export(*src.NFS)
		return
	case src.Stream != nil:
		g.workload(src.Stream.WorkloadExec)
		return
	}
	name := src.PVC.Name
	if name == g.w.Repository.Needs().Claim {
		// Also as a copy: each backup would store all those before it once more, until the volume is full.
		g.hold("", kopiurv1.ReasonInvalidSpec, 0, "claim %s holds the repository itself: it cannot be its own source; name another claim in the sources of SnapshotPolicy %s", name, g.w.Policy.Name)
		return
	}
	c := g.w.Source
	if staged := g.w.Snapshot.Status.Staged; c == nil && staged != nil && g.w.StagedClaim != nil && serves(g.w, *staged) {
		// The copy is made and outlives its source.
		g.pass(kind, kopiurv1.ReasonSourcePVCFound, "claim %s existed when it was copied", name)
		return
	}
	if c == nil || c.DeletionTimestamp != nil {
		left := sourceDeadline
		if was := find(g.w.Snapshot.Status.Conditions, kind); was != nil && was.Status == metav1.ConditionFalse {
			left -= g.now.Sub(was.LastTransitionTime.Time)
		}
		if left <= 0 && !g.p.Reopened {
			g.fail(kind, OpPrepare, kopiurv1.ReasonSourcePVCMissing, "claim %s/%s did not appear in %s: correct the policy's source, or create the claim and another Snapshot", g.w.Snapshot.Namespace, name, sourceDeadline)
			return
		}
		g.hold(kind, kopiurv1.ReasonSourcePVCMissing, max(left, time.Second), "claim %s/%s, the source, does not exist", g.w.Snapshot.Namespace, name)
		return
	}
	if src.PublishesReadWrite() && moverjob.IsBlock(c) {
		// Of a device nothing but its publication says that it is read-only.
		g.fail(kind, OpPrepare, kopiurv1.ReasonInvalidSpec, "claim %s is a block device, which pvcPublicationReadOnly: false would let the mover write to: leave it out of SnapshotPolicy %s", name, g.w.Policy.Name)
		return
	}
	if src.PVCSelector != nil && !expand.Selects(src, c) && !g.begun() {
		g.fail(kind, OpPrepare, kopiurv1.ReasonSourceNotSelected, "claim %s is not among those that SnapshotPolicy %s selects: label it, or name another one in spec.source.target", name, g.w.Policy.Name)
		return
	}
	g.pass(kind, kopiurv1.ReasonSourcePVCFound, "claim %s exists", name)
}

// export keeps a repository from being backed up into itself. Whether the export can be mounted only its node knows.
func (g *walk) export(n kopiurv1.NFSVolume) {
	fs := g.w.Repository.Spec.Backend.Filesystem
	if fs == nil || fs.Volume == nil || fs.Volume.NFS == nil || fs.Volume.NFS.Server != n.Server {
		return
	}
	a, b := path.Clean(fs.Volume.NFS.Path)+"/", path.Clean(n.Path)+"/"
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || a == "//" || b == "//" {
		g.hold("", kopiurv1.ReasonInvalidSpec, 0, "export %s:%s holds the repository itself: it cannot be its own source; name another one in the sources of SnapshotPolicy %s", n.Server, n.Path, g.w.Policy.Name)
	}
}

// workload waits for the one pod in which the command is to run. The helper looks once more: between here and there it
// may have been replaced.
func (g *walk) workload(e kopiurv1.WorkloadExec) {
	if g.ask(AskPods) {
		return
	}
	if v := gates.Workload(e, g.w.Neighbours); !v.Open {
		g.hold("", v.Reason, neighbourRecheck, "%s", v.Message)
	}
}

// privilege builds the pod and asks what it needs. The pod is the same one that is started later, but for nothing.
func (g *walk) privilege() {
	const kind = kopiurv1.ConditionMoverPermitted
	job, err := build(g.w, g.attempt)
	if err != nil {
		g.hold("", kopiurv1.ReasonInvalidSpec, 0, "SnapshotPolicy %s and its repository make no working mover: %s", g.w.Policy.Name, err)
		return
	}
	g.p.Job, g.p.Recorded = job, RecordedOf(g.w)
	streams := SourceOf(g.w.Snapshot, g.w.Policy).Stream != nil
	if (streams || len(moverjob.Privileges(job.Spec.Template.Spec)) > 0) && g.ask(AskNamespace) {
		return
	}
	var annotations map[string]string
	if g.w.Namespace != nil {
		annotations = g.w.Namespace.Annotations
	}
	v := gates.Privileges(job.Spec.Template.Spec, g.w.Snapshot.Namespace, annotations)
	if v.Open && streams {
		v = gates.Commands(g.w.Snapshot.Namespace, annotations)
	}
	if !v.Open {
		g.hold(kind, v.Reason, 0, "%s", v.Message)
		return
	}
	g.pass(kind, v.Reason, "%s", v.Message)
	g.groups()
}

// groups warns where the only thing that is said about whom the mover runs as means nothing: a server of NFS goes by uid and
// groups of whoever asks, and the kubelet changes no groups there (acceptance F-8).
func (g *walk) groups() {
	if SourceOf(g.w.Snapshot, g.w.Policy).NFS == nil {
		return
	}
	var gid *int64
	for _, l := range moverjob.LayersOf(*g.w.Repository, g.w.Inherited, Layers(g.w.Snapshot, g.w.Policy)...) {
		if l.Names() {
			return
		}
		if l.Pod != nil && l.Pod.FSGroup != nil {
			gid = l.Pod.FSGroup
		}
	}
	if gid != nil {
		g.p.Conditions = append(g.p.Conditions, metav1.Condition{
			Type: kopiurv1.ConditionSecurityContextCompatible, Status: metav1.ConditionUnknown, Reason: kopiurv1.ReasonFSGroupIgnoredOnNFS,
			Message: fmt.Sprintf("fsGroup %d changes nothing on an NFS export, whose server goes by uid and groups: set mover.securityContext.runAsUser, "+
				"or add the group to mover.podSecurityContext.supplementalGroups", *gid),
		})
	}
}

// use keeps a mover from hanging Pending beside the only pod that a ReadWriteOncePod claim admits (acceptance A-9).
func (g *walk) use() {
	if g.w.Source == nil || methodOf(g.w) != kopiurv1.CopyDirect || !slices.Contains(g.w.Source.Spec.AccessModes, corev1.ReadWriteOncePod) {
		return
	}
	if g.ask(AskUsers) {
		return
	}
	if len(g.w.Users) > 0 {
		g.fail(kopiurv1.ConditionSourcePVCAvailable, OpPrepare, kopiurv1.ReasonPVCInUse, "claim %s is ReadWriteOncePod and pod %s uses it: use copyMethod Snapshot or Clone", g.w.Source.Name, list(g.w.Users))
	}
}

// others waits for the pods of earlier attempts: two movers of one Snapshot must never run.
func (g *walk) others() {
	if n := len(g.w.OtherPods); n > 0 {
		g.hold("", kopiurv1.ReasonMoverStarting, time.Minute, "pod %s of an earlier attempt has not ended yet", list(g.w.OtherPods))
	}
}

// begun reports whether the run has done something already that must not be left half done: what only keeps new runs from
// starting does not stop it.
func (g *walk) begun() bool {
	return g.w.Snapshot.Status.Staged != nil || Owes(g.w.Snapshot) && !g.p.Reopened
}

// limits of runs that this Snapshot is subject to.
func limits(w World) slots.Limits {
	l := slots.Limits{Cluster: w.ClusterLimit}
	if c := w.Repository.Spec.Concurrency; c != nil {
		l.Repository = int(c.MaxConcurrentJobs)
	}
	if u := w.Policy.Spec.Upload; u != nil {
		l.Policy = int(u.MaxParallelSnapshots)
	}
	return l
}

// Limits is limits for those who count the others.
func Limits(w World) slots.Limits { return limits(w) }

// slot waits for a place beside the other runs. A run that has one keeps it until it ends.
func (g *walk) slot() {
	const kind = kopiurv1.ConditionRepositorySlotAvailable
	if !limits(g.w).Any() {
		return
	}
	if g.ask(AskSlot) {
		return
	}
	switch v := g.w.Slot; {
	case v.Admitted:
		g.pass(kind, kopiurv1.ReasonSlotAvailable, "a slot is reserved for this run")
	case v.State == slots.Parked:
		g.hold("", kopiurv1.ReasonWaitingForSlot, 0, "%s", v.Message)
	default:
		g.hold(kind, kopiurv1.ReasonWaitingForSlot, 0, "%s", v.Message)
	}
}

func isSlot(c metav1.Condition) bool { return c.Type == kopiurv1.ConditionRepositorySlotAvailable }

func find(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}
