// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package suspend

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// kind is one of those that can be suspended.
type kind struct {
	name string
	// group is what the manual calls it, word what tells it from others of its group.
	group, word string
	clusterWide bool
	object      func() client.Object
	list        func() client.ObjectList
	// field is the one that says so; patch sets it.
	field func(client.Object) *bool
	patch string
}

const plain = `{"spec":{"suspend":%s}}`

var kinds = []kind{
	{
		name: "SnapshotPolicy", group: "policy", word: "policy", patch: plain,
		object: func() client.Object { return &kopiurv1.SnapshotPolicy{} },
		list:   func() client.ObjectList { return &kopiurv1.SnapshotPolicyList{} },
		field:  of(func(o *kopiurv1.SnapshotPolicy) *bool { return &o.Spec.Suspend }),
	},
	{
		name: "SnapshotSchedule", group: "schedule", word: "schedule", patch: `{"spec":{"schedule":{"suspend":%s}}}`,
		object: func() client.Object { return &kopiurv1.SnapshotSchedule{} },
		list:   func() client.ObjectList { return &kopiurv1.SnapshotScheduleList{} },
		field:  of(func(o *kopiurv1.SnapshotSchedule) *bool { return &o.Spec.Schedule.Suspend }),
	},
	{
		name: "Repository", group: "repository", word: "repository", patch: plain,
		object: func() client.Object { return &kopiurv1.Repository{} },
		list:   func() client.ObjectList { return &kopiurv1.RepositoryList{} },
		field:  of(func(o *kopiurv1.Repository) *bool { return &o.Spec.Suspend }),
	},
	{
		name: "ClusterRepository", group: "cluster-repository", word: "cluster-repository", patch: plain, clusterWide: true,
		object: func() client.Object { return &kopiurv1.ClusterRepository{} },
		list:   func() client.ObjectList { return &kopiurv1.ClusterRepositoryList{} },
		field:  of(func(o *kopiurv1.ClusterRepository) *bool { return &o.Spec.Suspend }),
	},
	{
		name: "RepositoryReplication", group: "replication", word: "repository-replication", patch: plain,
		object: func() client.Object { return &kopiurv1.RepositoryReplication{} },
		list:   func() client.ObjectList { return &kopiurv1.RepositoryReplicationList{} },
		field:  of(func(o *kopiurv1.RepositoryReplication) *bool { return &o.Spec.Suspend }),
	},
	{
		name: "SnapshotReplication", group: "replication", word: "snapshot-replication", patch: plain,
		object: func() client.Object { return &kopiurv1.SnapshotReplication{} },
		list:   func() client.ObjectList { return &kopiurv1.SnapshotReplicationList{} },
		field:  of(func(o *kopiurv1.SnapshotReplication) *bool { return &o.Spec.Suspend }),
	},
}

// of makes an accessor of one type one of any object. A kind only ever meets its own.
func of[T client.Object](field func(T) *bool) func(client.Object) *bool {
	return func(o client.Object) *bool {
		if t, ok := o.(T); ok {
			return field(t)
		}
		return new(bool)
	}
}

func (k kind) key(namespace, name string) client.ObjectKey {
	if k.clusterWide {
		namespace = ""
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func (k kind) suspended(o client.Object) bool { return *k.field(o) }
func (k kind) set(o client.Object, on bool)   { *k.field(o) = on }
