// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"fmt"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Side of a copy.
type Side string

// The two sides.
const (
	Source      Side = "source"
	Destination Side = "destination"
)

func (s Side) other() Side {
	if s == Source {
		return Destination
	}
	return Source
}

// secrets is where the mover finds the Secrets of this side.
func (s Side) secrets() string {
	if s == Source {
		return work.SourceSecretsDir
	}
	return work.DestinationSecretsDir
}

// folder is where a repository of this side that is on a volume is mounted, whatever its own path is: two of them may
// have the same (J-11).
func (s Side) folder() string {
	if s == Source {
		return work.SourceRepositoryDir
	}
	return work.DestinationRepositoryDir
}

// Peer is the other one of two repositories in a Job: where copies go to, or come from.
type Peer struct {
	// Side that the peer is on; the Request's own repository is on the other.
	Side Side
	// Repository; of a store without an object that describes it, only Spec.Backend and Projected are set.
	Repository Repository
	// Store: there is no object, so that the peer has no password but the Request's.
	Store bool
	// Throttle and OwnThrottle, where they are set, take the place of what the peer and the Request's repository say.
	Throttle, OwnThrottle *kopiurv1.Throttle
}

// backends that the Job works with.
func (r Request) backends() []kopiurv1.Backend {
	out := []kopiurv1.Backend{r.Repository.Spec.Backend}
	if r.Peer != nil {
		out = append(out, r.Peer.Repository.Spec.Backend)
	}
	return out
}

func (r Request) onFilesystem() bool {
	for _, b := range r.backends() {
		if b.Filesystem != nil {
			return true
		}
	}
	return false
}

// serviceAccount is the one that both sides agree on.
func (r Request) serviceAccount() (string, error) {
	name := ""
	for _, b := range r.backends() {
		switch s := b.ServiceAccount(); {
		case s == "" || s == name:
		case name == "":
			name = s
		default:
			return "", fmt.Errorf("one pod works with both repositories, and it has one ServiceAccount: name the same one in both, not %s and %s", name, s)
		}
	}
	return name, nil
}

// told is the Request's repository as its mover is told, which finds it elsewhere where there are two.
func (r Request) told(cache work.Cache) work.Repository {
	out := r.Repository.work(cache)
	if r.Peer != nil {
		moved(&out, r.Peer.Side.other(), r.Peer.OwnThrottle)
	}
	return out
}

// withPeer is the operation with what its mover is told of the peer.
func (r Request) withPeer(cache work.Cache) work.Operation {
	op := r.Operation
	if r.Peer == nil {
		return op
	}
	peer := r.Peer.Repository.work(cache)
	moved(&peer, r.Peer.Side, r.Peer.Throttle)
	switch {
	case op.Migrate != nil:
		m := *op.Migrate
		m.Destination = peer
		op.Migrate = &m
	case op.Replicate != nil:
		m := *op.Replicate
		m.Destination, m.Throttle = peer.Backend, peer.Throttle
		op.Replicate = &m
	case op.Seed != nil && op.Seed.Blob != nil:
		s, m := *op.Seed, *op.Seed.Blob
		m.Source, m.Throttle = peer.Backend, peer.Throttle
		s.Blob = &m
		op.Seed = &s
	case op.Seed != nil && op.Seed.Migrate != nil:
		s, m := *op.Seed, *op.Seed.Migrate
		m.Source = peer
		s.Migrate = &m
		op.Seed = &s
	}
	return op
}

// moved puts a repository on one side of a copy.
func moved(r *work.Repository, side Side, t *kopiurv1.Throttle) {
	if fs := r.Backend.Filesystem; fs != nil {
		r.Backend.Filesystem = &work.Filesystem{Path: side.folder()}
	}
	if t != nil {
		r.Throttle = new(work.Throttle(*t))
	}
}
