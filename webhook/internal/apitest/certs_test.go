// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

const day = 24 * time.Hour

var errOld = errors.New("the old certificate")

// bundle is what the configuration trusts at present.
func (e *env) bundle(ctx context.Context) ([]*x509.Certificate, error) {
	c := &admissionv1.ValidatingWebhookConfiguration{}
	if err := e.client.Get(ctx, client.ObjectKey{Name: e.name}, c); err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for text := c.Webhooks[0].ClientConfig.CABundle; ; {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out, nil
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, cert)
	}
}

// shake makes one new connection to a replica as an API server would, and returns the certificate it was served.
func (e *env) shake(ctx context.Context, addr net.Addr) (*x509.Certificate, error) {
	trusted, err := e.bundle(ctx)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range trusted {
		pool.AddCert(c)
	}
	d := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: e.name + "." + e.name + ".svc", MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// eventually waits until check has nothing to say.
func (e *env) eventually(what string, check func(ctx context.Context) error) {
	e.t.Helper()
	require.EventuallyWithT(e.t, func(c *assert.CollectT) { require.NoError(c, check(e.t.Context()), what) }, wait, tick, what)
}

// admits waits until the API server gets an answer for an object that nothing is wrong with.
func (e *env) admits() {
	e.t.Helper()
	e.eventually("the webhook to answer", func(context.Context) error { return e.try(e.repository("probe")) })
}

// secret reads the certificate's Secret.
func (e *env) secret(ctx context.Context) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, e.client.Get(ctx, client.ObjectKey{Namespace: e.name, Name: e.name + "-tls"}, s)
}

// A webhook that slept through the end of everything, then two replicas that replace an authority while requests go on.
func TestRotationPastExpiry(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	now := time.Now()
	begin := now.Add(-550*day - 2*time.Hour - 15*time.Minute)
	clk := clocktesting.NewFakeClock(begin)
	e.clock = clk
	a, b := e.start(), e.start()
	e.call(a)
	e.eventually("the configurations to be told", func(ctx context.Context) error {
		_, err := e.shakeAt(ctx, a.admission, begin)
		return err
	})
	require.ErrorContains(t, e.try(e.repository("probe")), "certificate", "what was made a year ago has expired since")

	clk.SetTime(now.Add(-2*time.Hour - 30*time.Minute))
	e.admits()
	old, err := e.shake(t.Context(), a.admission)
	require.NoError(t, err)
	s, err := e.secret(t.Context())
	require.NoError(t, err)
	assert.Equal(t, old.NotAfter.UTC().Format(time.RFC3339), s.Annotations[kopiurv1.AnnotationWebhookCertNotAfter])

	stop := e.hammer(a, b)
	defer stop()
	clk.SetTime(now.Add(-2 * time.Hour))
	e.eventually("a second authority to be trusted", func(ctx context.Context) error { return e.trusts(ctx, 2) })
	still, err := e.shake(t.Context(), a.admission)
	require.NoError(t, err)
	assert.Equal(t, old.SerialNumber, still.SerialNumber, "nothing is served that was trusted for less than an hour")

	clk.SetTime(now.Add(-50 * time.Minute))
	for _, r := range []*replica{a, b} {
		e.eventually("both replicas to serve a certificate of the new authority", func(ctx context.Context) error {
			got, err := e.shake(ctx, r.admission)
			if err == nil && got.SerialNumber.Cmp(old.SerialNumber) == 0 {
				err = errOld
			}
			return err
		})
	}
	clk.SetTime(now.Add(23*time.Hour + 30*time.Minute))
	e.eventually("the old authority to be trusted no longer", func(ctx context.Context) error { return e.trusts(ctx, 1) })
	e.admits()
	stop()
}

// shakeAt is shake at another time than the present one.
func (e *env) shakeAt(ctx context.Context, addr net.Addr, at time.Time) (*x509.Certificate, error) {
	trusted, err := e.bundle(ctx)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range trusted {
		pool.AddCert(c)
	}
	d := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: e.name + "." + e.name + ".svc", MinVersion: tls.VersionTLS12, Time: func() time.Time { return at }}}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// trusts fails unless both configurations hold n authorities.
func (e *env) trusts(ctx context.Context, n int) error {
	got, err := e.bundle(ctx)
	if err == nil && len(got) != n {
		err = fmt.Errorf("%d are trusted", len(got))
	}
	return err
}

// hammer asks the API server, and shakes hands with every replica, until it is stopped. Not one of them may fail. Before
// it stops it goes on for a while.
func (e *env) hammer(replicas ...*replica) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	rounds := make(chan struct{})
	running.Go(func() {
		for ctx.Err() == nil {
			if err := e.client.Create(ctx, e.repository("hammer"), client.DryRunAll); err != nil && ctx.Err() == nil {
				e.t.Errorf("request: %v", err)
				return
			}
			for _, r := range replicas {
				if _, err := e.shake(ctx, r.admission); err != nil && ctx.Err() == nil {
					e.t.Errorf("new connection: %v", err)
					return
				}
			}
			select {
			case rounds <- struct{}{}:
			default:
			}
		}
	})
	return sync.OnceFunc(func() {
		deadline := time.After(wait)
		for range 20 {
			select {
			case <-rounds:
			case <-deadline:
				e.t.Error("requests were not made")
			}
		}
		cancel()
		running.Wait()
	})
}

func TestReplicasThatStartTogetherAgree(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var replicas []*replica
	var mu sync.Mutex
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			r := e.start()
			mu.Lock()
			defer mu.Unlock()
			replicas = append(replicas, r)
		})
	}
	starting.Wait()
	e.call(replicas[0])
	e.admits()
	s, err := e.secret(t.Context())
	require.NoError(t, err)
	block, _ := pem.Decode(s.Data["tls.crt"])
	require.NotNil(t, block)
	for _, r := range replicas {
		e.eventually("every replica to serve what the Secret holds", func(ctx context.Context) error {
			got, err := e.shake(ctx, r.admission)
			if err == nil && !bytes.Equal(got.Raw, block.Bytes) {
				err = errors.New("another certificate")
			}
			return err
		})
	}
}

// What somebody deletes or overwrites comes back, without a request lost.
//
//nolint:paralleltest // one story
func TestWhatIsTakenAwayComesBack(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a, b := e.start(), e.start()
	e.call(a)
	e.admits()
	before, err := e.secret(t.Context())
	require.NoError(t, err)

	t.Run("the Secret", func(t *testing.T) {
		stop := e.hammer(a, b)
		require.NoError(t, e.client.Delete(t.Context(), before.DeepCopy()))
		e.eventually("a new Secret", func(ctx context.Context) error {
			after, err := e.secret(ctx)
			if err == nil && bytes.Equal(after.Data["ca.key"], before.Data["ca.key"]) {
				err = errors.New("with the same key")
			}
			return err
		})
		e.eventually("both authorities to be trusted", func(ctx context.Context) error { return e.trusts(ctx, 2) })
		stop()
	})
	t.Run("its content", func(t *testing.T) {
		stop := e.hammer(a, b)
		s, err := e.secret(t.Context())
		require.NoError(t, err)
		s.Data["ca.key"] = []byte("nonsense")
		require.NoError(t, e.client.Update(t.Context(), s))
		e.eventually("a Secret that can be used", func(ctx context.Context) error {
			after, err := e.secret(ctx)
			if err == nil && bytes.Equal(after.Data["ca.key"], []byte("nonsense")) {
				err = errors.New("nonsense")
			}
			return err
		})
		stop()
	})
	t.Run("what a configuration trusts", func(t *testing.T) {
		c := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: e.name}}
		require.NoError(t, e.client.Get(t.Context(), client.ObjectKeyFromObject(c), c))
		c.Webhooks[0].ClientConfig.CABundle = nil
		require.NoError(t, e.client.Update(t.Context(), c))
		e.admits()
	})
}
