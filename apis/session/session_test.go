// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var (
	nas    = kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: "apps", Name: "nas"}
	shared = kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "nas"}
)

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, ref := range []kopiurv1.RepositoryRef{nas, shared} {
		want := session.Request{Repository: ref, TTL: 15 * time.Minute}
		cm := want.ConfigMap("web")
		got, err := session.Parse(cm)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, "web", cm.Namespace)
		assert.True(t, *cm.Immutable)
		assert.Equal(t, string(ref.Kind)+"-nas", cm.Labels["kopiur.home-operations.com/session-repo"])
		assert.Equal(t, "browse", cm.Labels["kopiur.home-operations.com/session"])
	}
}

func TestEachRepositoryHasAName(t *testing.T) {
	t.Parallel()
	elsewhere := nas
	elsewhere.Namespace = "web"
	long := kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: "apps", Name: strings.Repeat("a", 23) + ".b" + strings.Repeat("c", 200)}
	names := map[string]bool{}
	for _, ref := range []kopiurv1.RepositoryRef{nas, shared, elsewhere, long} {
		name := session.Name(ref)
		assert.Equal(t, name, session.Name(ref))
		assert.Regexp(t, `^browse-[a-z0-9-]+-[0-9a-f]{8}$`, name)
		assert.LessOrEqual(t, len(name), 40, "Jobs and pods derive their names from it")
		names[name] = true
	}
	assert.Len(t, names, 4)
	assert.Regexp(t, `^browse-nas-`, session.Name(nas))
	assert.Equal(t, session.Name(nas), session.Name(kopiurv1.RepositoryRef{Namespace: "apps", Name: "nas"}), "without a kind it is a Repository")
}

func TestWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*corev1.ConfigMap)
		says string
	}{
		"another kind":                      {func(c *corev1.ConfigMap) { c.Data["repositoryKind"] = "Bucket" }, "repositoryKind"},
		"no name":                           {func(c *corev1.ConfigMap) { c.Data["repositoryName"] = "" }, "repositoryName is empty"},
		"no namespace":                      {func(c *corev1.ConfigMap) { c.Data["repositoryNamespace"] = "" }, "repositoryNamespace is empty"},
		"a namespace where there is none":   {func(c *corev1.ConfigMap) { c.Data["repositoryKind"] = "ClusterRepository" }, "in no namespace"},
		"a name of one's own":               {func(c *corev1.ConfigMap) { c.Name = "mine" }, "is named browse-nas-"},
		"the name of another repository":    {func(c *corev1.ConfigMap) { c.Data["repositoryName"] = "offsite" }, "is named browse-offsite-"},
		"no time":                           {func(c *corev1.ConfigMap) { c.Data["ttl"] = "" }, "ttl"},
		"less time than anybody could type": {func(c *corev1.ConfigMap) { c.Data["ttl"] = "9s" }, "write one from 10s to 8h"},
		"more time than a session lasts":    {func(c *corev1.ConfigMap) { c.Data["ttl"] = "8h1m" }, "write one from 10s to 8h"},
		"nothing":                           {func(c *corev1.ConfigMap) { c.Data = nil }, "repositoryKind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cm := session.Request{Repository: nas, TTL: time.Minute}.ConfigMap("apps")
			tc.edit(cm)
			_, err := session.Parse(cm)
			require.ErrorIs(t, err, session.ErrInvalid)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := session.Answer{
		State: session.Open, Reason: kopiurv1.ReasonSessionOpen, Message: "ask", Pod: "p", Since: time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC),
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for k, v := range want.Annotations() {
		require.NotNil(t, v, k)
		cm.Annotations[k] = *v
	}
	assert.Equal(t, want, session.Read(cm))
	assert.Equal(t, session.Answer{}, session.Read(&corev1.ConfigMap{}), "one that nobody has looked at")
	assert.Nil(t, session.Answer{State: session.Refused}.Annotations()[kopiurv1.AnnotationSessionPod], "what is not so any more is taken away")
	assert.True(t, session.Refused.Final())
	assert.True(t, session.Failed.Final())
	assert.False(t, session.Open.Final() || session.Starting.Final() || session.Unseen.Final())
}
