// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// OwnerName is what a repository's own Maintenance is called in spec.ownership.owner.
func OwnerName(r moverjob.Repository) string {
	parts := []string{"kopiur"}
	if c := moverjob.Cluster(r); c != "" {
		parts = append(parts, c)
	}
	if r.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		parts = append(parts, "clusterrepository")
	} else {
		parts = append(parts, r.Ref.Namespace)
	}
	return strings.Join(append(parts, r.Ref.Name), "/")
}

// Client is who a name is to kopia, as username and hostname: the repository's own client where it is that one's name. It
// never depends on a pod, because an owner that is gone with its pod is an owner for ever (K-6, C-6).
func Client(r moverjob.Repository, name string) (username, hostname string) {
	if name == "" || name == OwnerName(r) {
		return r.Owner()
	}
	if user, host, found := strings.Cut(name, "@"); found && user != "" && host != "" {
		return user, host
	}
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 3 && parts[0] == "kopiur" && parts[1] == "clusterrepository":
		return "kopiur", "kopiur-cluster-" + parts[2]
	case len(parts) == 4 && parts[0] == "kopiur":
		return "kopiur", strings.Join(parts, ".")
	default:
		return "kopiur", strings.Join(parts, "-")
	}
}

// Rule says whose ownership a run may take over: names of its own, of which the repository's client is one in any case, and
// that under which this Maintenance was registered before; with Force that of anybody. So a repository whose cluster gets
// a name later on is not shut out by itself.
func Rule(r moverjob.Repository, o kopiurv1.MaintenanceOwnership, before *kopiurv1.MaintenanceOwner) *work.OwnerRule {
	out := &work.OwnerRule{Anyone: o.TakeoverPolicy == kopiurv1.TakeoverForce}
	own := full(Client(r, o.Owner))
	seen := map[string]bool{own: true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out.Aliases = append(out.Aliases, name)
		}
	}
	add(full(r.Owner()))
	for _, alias := range o.OwnerAliases {
		add(full(Client(r, alias)))
	}
	if before != nil && before.ClaimedAt != "" && before.Owner != "" {
		add(before.Owner)
	}
	return out
}

// taking is how long a Lease holds for a Job that does not exist yet.
const taking = time.Minute

// Taking reports whether a Lease was written so lately that its holder may be about to make its Job: where there is none,
// it is not gone then. A time that lies far ahead was written by a clock that is wrong, and says nothing.
func Taking(l *coordinationv1.Lease, now time.Time) bool {
	at := l.Spec.RenewTime
	return at != nil && now.Sub(at.Time).Abs() < taking
}

func full(username, hostname string) string { return username + "@" + hostname }

// LeaseName is the Lease that whoever maintains a store in this cluster has to hold, whatever the objects are called that
// lead to the store (K-6).
func LeaseName(uniqueID string) string {
	sum := sha256.Sum256([]byte(uniqueID))
	return "kopiur-maintenance-" + hex.EncodeToString(sum[:])[:16]
}
