// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kopiur/kopiur/controller/setup"
)

// permissions are those the chart grants the controller, bound to a user that the controllers of tests work as. A verb
// that is missing from the markers fails the tests here, not an installation somewhere.
type permissions struct {
	user    string
	client  client.Client
	objects []client.Object
}

func grant(cfg *rest.Config) (*permissions, error) {
	file := filepath.Join(sourceDir(), "..", "..", "..", "charts", "kopiur", "files", "rbac.yaml")
	b, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("read the controller's permissions: %w", err)
	}
	var rules, more struct {
		ClusterRole []rbacv1.PolicyRule `json:"clusterRole"`
		Role        []rbacv1.PolicyRule `json:"role"`
	}
	if err := yaml.Unmarshal(b, &rules); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	// Tests switch everything on that the chart can.
	for _, name := range []string{"projection-rbac.yaml", "server-rbac.yaml"} {
		feature := filepath.Join(filepath.Dir(file), name)
		if b, err = os.ReadFile(filepath.Clean(feature)); err != nil {
			return nil, fmt.Errorf("read the controller's permissions: %w", err)
		}
		if err := yaml.Unmarshal(b, &more); err != nil {
			return nil, fmt.Errorf("read %s: %w", feature, err)
		}
		rules.ClusterRole = append(rules.ClusterRole, more.ClusterRole...)
	}
	// The operator's own namespace is that of the test, which is not known here.
	rules.ClusterRole = append(rules.ClusterRole, rules.Role...)
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client for the permissions: %w", err)
	}
	name := "kopiur-test-" + random()
	p := &permissions{user: name, client: c, objects: []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules.ClusterRole},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		},
		// What it may do in its own namespace only: see Env.Operator.
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-own"}, Rules: rules.Role},
		// The chart's other ClusterRole, which the controller binds for helpers of streams.
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-stream-mover"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
		}},
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, obj := range p.objects {
		if err := c.Create(ctx, obj); err != nil {
			return nil, fmt.Errorf("grant the controller's permissions: %w", err)
		}
	}
	return p, nil
}

// Operator is what the operator's own process works with in the test's namespace, its Lease for one.
func (e *Env) Operator() *rest.Config {
	e.T.Helper()
	p := server.role
	require.NoError(e.T, client.IgnoreAlreadyExists(p.client.Create(e.T.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: p.user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.user + "-own"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.user}},
	})))
	cfg := p.limit(e.Config)
	c, err := client.New(cfg, client.Options{})
	require.NoError(e.T, err)
	// The API server learns of the binding by a watch, and an elector that is refused ends.
	require.Eventually(e.T, func() bool {
		ask := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: e.Namespace, Verb: "update", Group: "coordination.k8s.io", Resource: "leases",
		}}}
		return c.Create(e.T.Context(), ask) == nil && ask.Status.Allowed
	}, Wait, Tick)
	return cfg
}

// Permitted is a client that may do what the controller may, and nothing else.
func (e *Env) Permitted() client.Client {
	e.T.Helper()
	cfg := server.role.limit(e.Config)
	cfg.UserAgent = e.agent()
	c, err := client.New(cfg, client.Options{Scheme: setup.Scheme()})
	require.NoError(e.T, err)
	return c
}

// streamRole is the ClusterRole of the helpers of streams.
func (p *permissions) streamRole() string { return p.user + "-stream-mover" }

func (p *permissions) revoke() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, obj := range p.objects {
		_ = p.client.Delete(ctx, obj)
	}
}

// limit makes a configuration work with these permissions and no others.
func (p *permissions) limit(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: p.user, Groups: []string{"system:authenticated"}}
	return cfg
}
