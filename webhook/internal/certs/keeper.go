// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

const (
	// stepTimeout bounds one round of reads and writes.
	stepTimeout = 20 * time.Second
	// resync is how often everything is looked at without a reason: a watch may have been late.
	resync = 10 * time.Minute
	// minRetry and maxRetry bound the pause after a fault.
	minRetry = 500 * time.Millisecond
	maxRetry = 30 * time.Second
)

// Config names what a Keeper keeps.
type Config struct {
	Namespace string
	Secret    string
	Service   string
	// Validating and Mutating name the configurations that are told what to trust; "" is none.
	Validating string
	Mutating   string
}

// names are the DNS names by which API servers may call the Service.
func (c Config) names() []string {
	base := c.Service + "." + c.Namespace
	return []string{base + ".svc", base, base + ".svc.cluster.local"}
}

// Keeper keeps the webhook's own certificate. Any number of replicas may run one on the same Secret.
type Keeper struct {
	client client.Client
	clock  clock.WithTicker
	log    logr.Logger
	config Config

	served atomic.Pointer[Material]
	fault  atomic.Pointer[error]
	poke   chan struct{}
}

// NewKeeper makes a Keeper. The client must read from the API server itself, not from a cache.
func NewKeeper(c client.Client, clk clock.WithTicker, log logr.Logger, config Config) *Keeper {
	return &Keeper{client: c, clock: clk, log: log, config: config, poke: make(chan struct{}, 1)}
}

// errNoCertificate ends handshakes until there is something to serve with.
var errNoCertificate = errors.New("there is no certificate yet")

// GetCertificate is what TLS asks.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	m := k.served.Load()
	if m == nil {
		return nil, errNoCertificate
	}
	return m.Certificate(), nil
}

// Missing is empty, or says why there is nothing to serve with.
func (k *Keeper) Missing() string {
	if k.served.Load() != nil {
		return ""
	}
	if err := k.fault.Load(); err != nil {
		return "certificate: " + (*err).Error()
	}
	return "certificate: not made yet"
}

// Wake lets the Keeper look again. It never waits.
func (k *Keeper) Wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// Run keeps the certificate until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	pause := minRetry
	for {
		now := k.clock.Now()
		at, err := k.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.fault.Store(&err)
			// Somebody else wrote first: what they wrote is read at once, the second time a little later.
			if !raced(err) {
				k.log.Error(err, "Keeping the certificate", "retryIn", pause)
			}
			at, pause = now.Add(pause), min(2*pause, maxRetry)
		default:
			k.fault.Store(nil)
			pause = minRetry
			if latest := now.Add(resync); at.After(latest) {
				at = latest
			}
		}
		if !k.wait(ctx, at) {
			return
		}
	}
}

// wait returns at a time or when woken; false when the context ended.
func (k *Keeper) wait(ctx context.Context, at time.Time) bool {
	pause := at.Sub(k.clock.Now())
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := k.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-k.poke:
	case <-timer.C():
	}
	return true
}

// step brings Secret, configurations and what is served in line, and says when to look again.
func (k *Keeper) step(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	// The configurations are read before the Secret, and written under their own lock. Whoever writes a newer Secret in
	// between also writes the configurations after it, so that an older bundle never replaces a newer one for good.
	targets, err := k.targets(ctx)
	if err != nil {
		return time.Time{}, err
	}
	secret, stored, err := k.stored(ctx)
	if err != nil {
		return time.Time{}, err
	}
	in := Input{Material: stored, Trusted: trusted(targets), Names: k.config.names(), Now: k.clock.Now()}
	if stored == nil {
		in.Material, in.Lost = k.served.Load(), true
	}
	next, err := Next(in)
	if err != nil {
		return time.Time{}, err
	}
	if len(next.Reasons) > 0 {
		if err := k.write(ctx, secret, next.Material); err != nil {
			return time.Time{}, err
		}
		k.log.Info("Renewing the certificate", "reasons", next.Reasons, "notAfter", next.Material.leaf.cert.NotAfter)
	}
	for _, t := range targets {
		if err := k.inject(ctx, t, next.Material.Bundle()); err != nil {
			return time.Time{}, err
		}
	}
	// Only now does everybody who calls trust it.
	k.served.Store(next.Material)
	notAfter.Set(float64(next.Material.leaf.cert.NotAfter.Unix()))
	return next.At, nil
}

// stored reads the Secret. Both are nil where there is none, the material where it cannot be used.
func (k *Keeper) stored(ctx context.Context) (*corev1.Secret, *Material, error) {
	secret := &corev1.Secret{}
	err := k.client.Get(ctx, client.ObjectKey{Namespace: k.config.Namespace, Name: k.config.Secret}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read Secret %s: %w", k.config.Secret, err)
	}
	m, err := parse(secret.Data)
	if err != nil {
		k.log.Info("Replacing the content of the Secret", "reason", err.Error())
		return secret, nil, nil
	}
	return secret, m, nil
}

// write stores material, in the Secret that was read or in a new one. Another replica's write in between is an error.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, m *Material) error {
	data, err := m.Data()
	if err != nil {
		return err
	}
	create := secret == nil
	if create {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.config.Namespace, Name: k.config.Secret}, Type: corev1.SecretTypeTLS}
	}
	secret.Data = data
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	secret.Labels[kopiurv1.LabelManagedBy] = kopiurv1.ManagedByValue
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[kopiurv1.AnnotationWebhookCertNotAfter] = m.leaf.cert.NotAfter.UTC().Format(time.RFC3339)
	if create {
		err = k.client.Create(ctx, secret)
	} else {
		err = k.client.Update(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", k.config.Secret, err)
	}
	return nil
}

// raced reports whether another replica was first.
func raced(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
