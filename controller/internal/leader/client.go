// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"fmt"
	"net"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=kopiur-system

const (
	// readTimeout of the election's own client; shorter than an attempt.
	readTimeout = 5 * time.Second
	dialTimeout = 5 * time.Second
)

// client is the Lease of one namespace and name.
type client struct {
	leases          coordinationclient.LeaseInterface
	namespace, name string
}

// NewLeases makes the client of the election. Nothing else may use it.
func NewLeases(cfg *rest.Config, namespace, name string) (Leases, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = readTimeout
	cfg.QPS = -1
	// A dialer of its own also gives it a transport of its own: client-go shares transports between equal configurations.
	cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	// With HTTP/1.1 a request that timed out closes its connection. With HTTP/2 it would stay, wedged, for the next one.
	cfg.NextProtos = []string{"http/1.1"}
	c, err := coordinationclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make the lease client: %w", err)
	}
	return &client{leases: c.Leases(namespace), namespace: namespace, name: name}, nil
}

func (c *client) Get(ctx context.Context) (*coordinationv1.Lease, error) {
	return c.leases.Get(ctx, c.name, metav1.GetOptions{}) //nolint:wrapcheck // a plain adapter
}

func (c *client) Create(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	l.Namespace, l.Name = c.namespace, c.name
	return c.leases.Create(ctx, l, metav1.CreateOptions{}) //nolint:wrapcheck // a plain adapter
}

func (c *client) Update(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.leases.Update(ctx, l, metav1.UpdateOptions{}) //nolint:wrapcheck // a plain adapter
}
