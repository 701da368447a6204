// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service puts the webhook together: certificate, admission, health, and an end in good order.
package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/webhook/internal/admission"
	"github.com/kopiur/kopiur/webhook/internal/certs"
	"github.com/kopiur/kopiur/webhook/internal/lookup"
	"github.com/kopiur/kopiur/webhook/internal/process"
	"github.com/kopiur/kopiur/webhook/internal/serve"
)

const (
	// drain is how long a replica goes on serving after it was told to end: until no node sends it anything new.
	drain = 5 * time.Second
	// filling is how long a new replica waits for its lookups to be filled before it takes requests without them.
	filling = 15 * time.Second
	// closing bounds the wait for requests in flight; no API server waits longer for an answer.
	closing = 15 * time.Second
)

// Options of a webhook.
type Options struct {
	process.Options
	Config *rest.Config
	Clock  clock.WithTicker
	// Rules are those of apis/validation.
	Rules admission.Rules
	// Started is called with the addresses that are served, where it is set.
	Started func(admission, health net.Addr)
	// Drain is how long to serve on after the context's end; 0 is the default.
	Drain time.Duration
}

// source supplies the certificate.
type source interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Missing() string
	Run(ctx context.Context)
}

// Run serves until the context ends, or something without which it cannot go on does.
func Run(ctx context.Context, o Options, log logr.Logger) (err error) {
	// What runs beside the servers ends after them: requests in flight still need it.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 2)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	certificate, watches, err := certificates(background, o, log)
	if err != nil {
		return err
	}
	running.Go(func() { certificate.Run(background) })
	if watches != nil {
		running.Go(func() { report(failed, "watch the certificate", watches.Start(background)) })
	}

	lookups, err := lookup.New(background, o.Config)
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	running.Go(func() { report(failed, "look up other objects", lookups.Start(background)) })

	validator := admission.NewValidator(o.Rules, admission.NewOthers(lookups, o.Clock))
	h, err := admission.Handler(log.WithName("admission"), validator, admission.NewMutator(o.Rules))
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	var ending atomic.Bool
	filled := o.Clock.Now().Add(filling)
	ready := func() string {
		if ending.Load() {
			return "ending"
		}
		missing := certificate.Missing()
		if missing == "" && o.Clock.Now().Before(filled) {
			// Later it is only said, in the warnings of the answers: objects can be checked by themselves.
			missing = lookups.Missing()
		}
		return missing
	}
	health, err := serve.Start(logr.NewContext(ctx, log), "metrics and health", o.HTTPAddr, serve.Health(ready), nil)
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	defer func() { err = errors.Join(err, closeServer(ctx, health)) }()
	admissions, err := serve.Start(logr.NewContext(ctx, log), "admission", o.Addr, h, certificate.GetCertificate)
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	defer func() { err = errors.Join(err, closeServer(ctx, admissions)) }()
	if o.Started != nil {
		o.Started(admissions.Addr(), health.Addr())
	}

	select {
	case <-ctx.Done():
		log.Info("Ending")
		ending.Store(true)
		pause := o.Drain
		if pause == 0 {
			pause = drain
		}
		// Of the machine's time, whatever the certificate's clock says.
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-admissions.Done():
		}
		return nil
	case <-admissions.Done():
	case <-health.Done():
	case err = <-failed:
	}
	return err
}

// certificates makes the source of certificates, and what wakes it where it needs that.
func certificates(ctx context.Context, o Options, log logr.Logger) (source, cache.Cache, error) {
	log = log.WithName("certificate")
	if !o.TLSManaged {
		return certs.NewFiles(o.TLSDir, o.Clock, log), nil, nil
	}
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(admissionv1.AddToScheme(s))
	c, err := client.New(o.Config, client.Options{Scheme: s})
	if err != nil {
		return nil, nil, fmt.Errorf("make the certificate's client: %w", err)
	}
	keeper := certs.NewKeeper(c, o.Clock, log, certs.Config{
		Namespace: o.Namespace, Secret: o.SecretName, Service: o.ServiceName,
		Validating: o.ValidatingConfig, Mutating: o.MutatingConfig,
	})
	watches, err := certs.Watches(ctx, o.Config, keeper)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // says what failed
	}
	return keeper, watches, nil
}

// report says why a part ended by itself; its end with the context is none.
func report(failed chan<- error, what string, err error) {
	if err == nil {
		return
	}
	select {
	case failed <- fmt.Errorf("%s: %w", what, err):
	default:
	}
}

// closeServer ends a server although the context that it was started with is over.
func closeServer(ctx context.Context, s *serve.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	return s.Close(ctx) //nolint:wrapcheck // says what failed
}
