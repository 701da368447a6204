// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// world is what lookups find. A world that is lost finds nothing out.
type world struct {
	policies     []kopiurv1.SnapshotPolicy
	repositories []kopiurv1.Repository
	clusters     []kopiurv1.ClusterRepository
	maintenances []kopiurv1.Maintenance
	replications []kopiurv1.RepositoryReplication
	labels       map[string]string
	lost         bool
	// asked counts questions about history, each of which is a request.
	asked int
}

var errLost = errors.New("the API server does not answer")

func (w *world) err() error {
	if w.lost {
		return errLost
	}
	return nil
}

func pick[T any, P interface {
	*T
	client.Object
}](w *world, all []T, namespace, name string) (P, error) {
	for i := range all {
		if o := P(&all[i]); !w.lost && o.GetNamespace() == namespace && o.GetName() == name {
			return o, nil
		}
	}
	return nil, w.err()
}

func (w *world) Policy(_ context.Context, namespace, name string) (*kopiurv1.SnapshotPolicy, error) {
	return pick(w, w.policies, namespace, name)
}

func (w *world) Repository(_ context.Context, namespace, name string) (*kopiurv1.Repository, error) {
	return pick(w, w.repositories, namespace, name)
}

func (w *world) ClusterRepository(_ context.Context, name string) (*kopiurv1.ClusterRepository, error) {
	return pick(w, w.clusters, "", name)
}

func (w *world) NamespaceLabels(context.Context, string) (map[string]string, error) {
	return w.labels, w.err()
}

func (w *world) PoliciesOf(context.Context, kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error) {
	return w.policies, w.err()
}

func (w *world) Maintenances(context.Context) ([]kopiurv1.Maintenance, error) {
	return w.maintenances, w.err()
}

func (w *world) RepositoryReplications(context.Context) ([]kopiurv1.RepositoryReplication, error) {
	return w.replications, w.err()
}

func (w *world) HasHistory(_ context.Context, p *kopiurv1.SnapshotPolicy) (bool, error) {
	w.asked++
	return p.Status.LastSuccessfulSnapshot != "", w.err()
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "apps", Name: name} }

// policy backs up claim data into ClusterRepository offsite.
func policy(name string, change ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: meta(name)}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "offsite"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	p.Spec.Mover = &kopiurv1.MoverSpec{}
	p.Spec.Mover.PrivilegedMode = new(true)
	for _, f := range change {
		f(p)
	}
	return p
}

func offsite(allowed kopiurv1.AllowedNamespaces) kopiurv1.ClusterRepository {
	r := kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
	r.Spec.AllowedNamespaces = allowed
	r.Spec.Backend.Filesystem = &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{Server: "nas", Path: "/backups"}}}
	return r
}

func everybody() kopiurv1.AllowedNamespaces { return kopiurv1.AllowedNamespaces{All: new(true)} }

func as(username string) func(*kopiurv1.SnapshotPolicy) {
	return func(p *kopiurv1.SnapshotPolicy) { p.Spec.Identity = &kopiurv1.PolicyIdentity{Username: username} }
}

func publishedReadWrite(p *kopiurv1.SnapshotPolicy) {
	p.Spec.Sources[0].PVCPublicationReadOnly = new(false)
}

func onClaim(r kopiurv1.ClusterRepository) kopiurv1.ClusterRepository {
	r.Spec.Backend.Filesystem.Volume = &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "store"}}
	return r
}

func grouping(r kopiurv1.ClusterRepository) kopiurv1.ClusterRepository {
	r.Spec.MoverDefaults = &kopiurv1.MoverDefaults{PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(100))}}
	return r
}

func stored(p *kopiurv1.SnapshotPolicy) { p.Status.LastSuccessfulSnapshot = "2026-03-05T09:00:00Z" }

// text is what a user reads.
func text(f validation.Findings) string {
	var out []string
	for _, e := range f.Errors {
		out = append(out, e.Error())
	}
	return strings.Join(append(out, f.Warnings...), "\n")
}

func TestOthers(t *testing.T) {
	t.Parallel()
	only := func(names ...string) kopiurv1.AllowedNamespaces { return kopiurv1.AllowedNamespaces{List: names} }
	trusted := kopiurv1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}}
	restore := &kopiurv1.Restore{ObjectMeta: meta("back")}
	restore.Spec.Source.FromPolicy = &kopiurv1.FromPolicy{Name: "data"}
	picking := &kopiurv1.Snapshot{ObjectMeta: meta("data-1")}
	picking.Spec.PolicyRef, picking.Spec.Source = &kopiurv1.PolicyRef{Name: "data"}, &kopiurv1.SnapshotSource{SourceIndex: 3}
	pinned := &kopiurv1.Snapshot{ObjectMeta: meta("data-1")}
	pinned.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "offsite"}
	maintenance := func(name string) kopiurv1.Maintenance {
		m := kopiurv1.Maintenance{ObjectMeta: meta(name)}
		m.Spec.Repository, m.Spec.Ownership.Owner = kopiurv1.RepositoryRef{Name: "nas"}, "kopiur"
		return m
	}
	mine, replication := maintenance("mine"), &kopiurv1.RepositoryReplication{ObjectMeta: meta("copy")}
	replication.Spec.SourceRef = *policy("").Spec.Repository
	replication.Spec.Destination = offsite(everybody()).Spec.Backend
	future := &kopiurv1.Repository{ObjectMeta: meta("nas")}
	future.Annotations = map[string]string{kopiurv1.AnnotationAllowMassDeletion: "2026-03-01T13:00:00Z"}

	for name, tc := range map[string]struct {
		object, old client.Object
		world       world
		want        string // of what is refused, "" for nothing
		wantSaid    string // of what is not known when the world is lost
	}{
		"a policy whose namespace is allowed": {
			object: policy("data"), world: world{clusters: []kopiurv1.ClusterRepository{offsite(only("apps"))}},
			wantSaid: "not checked: what ClusterRepository offsite says of this policy (the API server does not answer)",
		},
		"a policy whose namespace is not allowed": {
			object: policy("data"), world: world{clusters: []kopiurv1.ClusterRepository{offsite(only("media"))}},
			want: "spec.repository: Forbidden: ClusterRepository offsite does not allow namespace apps",
		},
		"one of several repositories does not allow the namespace": {
			object: policy("data", func(p *kopiurv1.SnapshotPolicy) {
				p.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas"}, *p.Spec.Repository}
				p.Spec.Repository = nil
			}),
			world: world{clusters: []kopiurv1.ClusterRepository{offsite(only("media"))}},
			want:  "spec.repositories[1]: Forbidden: ClusterRepository offsite does not allow namespace apps",
		},
		"a namespace with the label that is asked for": {
			object: policy("data"), world: world{clusters: []kopiurv1.ClusterRepository{offsite(trusted)}, labels: map[string]string{"backup": "yes"}},
		},
		"a namespace without labels where one is asked for": {
			object: policy("data"), world: world{clusters: []kopiurv1.ClusterRepository{offsite(trusted)}},
			want: "does not allow namespace apps",
		},
		"a repository that does not exist yet": {object: policy("data"), world: world{}},
		"a claim published read-write beside a repository on a claim": {
			object: policy("data", publishedReadWrite), world: world{clusters: []kopiurv1.ClusterRepository{onClaim(offsite(everybody()))}},
			want: "spec.sources[0].pvcPublicationReadOnly: Forbidden: the repository is on claim store",
		},
		"a claim published read-write beside a repository on a server": {
			object: policy("data", publishedReadWrite), world: world{clusters: []kopiurv1.ClusterRepository{offsite(everybody())}},
		},
		"a claim published read-write with an fsGroup of the repository": {
			object: policy("data", publishedReadWrite), world: world{clusters: []kopiurv1.ClusterRepository{grouping(offsite(everybody()))}},
			want: "spec.sources[0].pvcPublicationReadOnly: Forbidden: the repository's moverDefaults.podSecurityContext.fsGroup",
		},
		"a policy that files under another's identity": {
			object: policy("data", as("shop")), world: world{policies: []kopiurv1.SnapshotPolicy{*policy("other", as("shop"))}, clusters: []kopiurv1.ClusterRepository{offsite(everybody())}},
			want: "SnapshotPolicy apps/other files snapshots under the same shop@apps:/pvc/data",
		},
		"a policy with a history that changes its identity": {
			object: policy("data", as("shop")), old: policy("data", stored), world: world{clusters: []kopiurv1.ClusterRepository{offsite(everybody())}},
			want:     "spec.identity: Forbidden: the policy has snapshots as data@apps",
			wantSaid: "not checked: whether the policy's identity changes in ClusterRepository offsite",
		},
		"a policy without a history changes as it likes": {
			object: policy("data", as("shop")), old: policy("data"), world: world{clusters: []kopiurv1.ClusterRepository{offsite(everybody())}},
		},
		"a policy that moves to another repository begins there anew": {
			object: policy("data", as("shop"), func(p *kopiurv1.SnapshotPolicy) { p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"} }),
			old:    policy("data", stored),
		},
		"a repository whose identityDefaults leave a history behind": {
			object: &kopiurv1.ClusterRepository{Spec: kopiurv1.ClusterRepositorySpec{RepositorySpec: kopiurv1.RepositorySpec{IdentityDefaults: &kopiurv1.IdentityDefaults{Cluster: "home"}}}},
			old:    &kopiurv1.ClusterRepository{}, world: world{policies: []kopiurv1.SnapshotPolicy{*policy("data", stored)}},
			want:     "SnapshotPolicy apps/data (from data@apps to data@apps.home)",
			wantSaid: "not checked: whether policies would leave snapshots behind under another identity",
		},
		"a repository whose policies have no history": {
			object: &kopiurv1.Repository{Spec: kopiurv1.RepositorySpec{IdentityDefaults: &kopiurv1.IdentityDefaults{Cluster: "home"}}},
			old:    &kopiurv1.Repository{}, world: world{policies: []kopiurv1.SnapshotPolicy{*policy("data")}},
		},
		"a deletion let go in advance": {object: future, want: "it lies in the future"},
		"a Snapshot of a source that its policy does not have": {
			object: picking, world: world{policies: []kopiurv1.SnapshotPolicy{*policy("data")}},
			want: "spec.source.sourceIndex: Invalid value: 3", wantSaid: "not checked: whether the Snapshot fits its policy",
		},
		"a Snapshot of a policy that does not exist yet": {object: picking},
		"a Snapshot in a repository that does not allow the namespace": {
			object: pinned, world: world{clusters: []kopiurv1.ClusterRepository{offsite(only())}}, want: "spec.repository: Forbidden: ",
		},
		"a Restore from a policy whose repository does not allow the namespace": {
			object: restore, world: world{policies: []kopiurv1.SnapshotPolicy{*policy("data")}, clusters: []kopiurv1.ClusterRepository{offsite(only())}},
			want: "spec.source.fromPolicy: Forbidden: ClusterRepository offsite does not allow namespace apps", wantSaid: "not checked: whether the Restore fits its policy",
		},
		"a second Maintenance of one owner": {
			object: &mine, world: world{maintenances: []kopiurv1.Maintenance{maintenance("other")}},
			want: "Maintenance apps/other of the same repository has this name too", wantSaid: "not checked: whether another Maintenance",
		},
		"a mirror that is its own source": {
			object: replication, world: world{clusters: []kopiurv1.ClusterRepository{offsite(only())}},
			want: "it is where ClusterRepository offsite is stored itself", wantSaid: "not checked: whether the destination differs from the source",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(w *world) validation.Findings {
				o := NewOthers(w, clocktesting.NewFakePassiveClock(now))
				f := o.Object(t.Context(), tc.object)
				if tc.old != nil {
					f.Merge(o.Update(t.Context(), tc.object, tc.old))
				}
				return f
			}
			got := check(&tc.world)
			if tc.want == "" {
				assert.Empty(t, got.Errors)
			} else {
				assert.Contains(t, text(validation.Findings{Errors: got.Errors}), tc.want)
			}
			if _, timed := tc.object.(*kopiurv1.Repository); timed && tc.old == nil {
				return
			}
			lost := check(&world{lost: true})
			assert.Empty(t, lost.Errors, "what is not known is not refused")
			assert.Contains(t, strings.Join(lost.Warnings, "\n"), "not checked: ", "and is said")
			assert.Contains(t, strings.Join(lost.Warnings, "\n"), tc.wantSaid)
		})
	}
}

// A change that touches no identity costs no request.
func TestHistoryIsAskedForOnlyWhenItMatters(t *testing.T) {
	t.Parallel()
	w := &world{policies: []kopiurv1.SnapshotPolicy{*policy("data", stored)}, clusters: []kopiurv1.ClusterRepository{offsite(everybody())}}
	o := NewOthers(w, clocktesting.NewFakePassiveClock(now))
	suspended := policy("data", stored, func(p *kopiurv1.SnapshotPolicy) { p.Spec.Suspend = true })
	assert.Empty(t, o.Update(t.Context(), suspended, policy("data", stored)))
	assert.Empty(t, o.Update(t.Context(), &w.clusters[0], w.clusters[0].DeepCopy()))
	assert.Zero(t, w.asked)
	meant := policy("data", stored, as("shop"))
	meant.Annotations = map[string]string{kopiurv1.AnnotationAllowIdentityChange: "true"}
	assert.Empty(t, o.Update(t.Context(), meant, policy("data", stored)))
	assert.Zero(t, w.asked)
}
