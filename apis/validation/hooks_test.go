// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func requesting(r kopiurv1.HTTPHook) kopiurv1.Hook { return kopiurv1.Hook{HTTPRequest: &r} }

func running(jobSpec string) kopiurv1.Hook {
	return kopiurv1.Hook{RunJob: &kopiurv1.JobHook{JobSpec: runtime.RawExtension{Raw: []byte(jobSpec)}}}
}

func sending(h ...kopiurv1.HTTPHeader) kopiurv1.Hook {
	return requesting(kopiurv1.HTTPHook{URL: "https://app/freeze", Headers: h})
}

func TestHooks(t *testing.T) {
	t.Parallel()
	exec := func(e kopiurv1.ExecHook) kopiurv1.Hook { return kopiurv1.Hook{WorkloadExec: &e} }
	header := func(name, value string) kopiurv1.HTTPHeader { return kopiurv1.HTTPHeader{Name: name, Value: value} }
	for name, tc := range map[string]struct {
		hook    kopiurv1.Hook
		wantErr string
	}{
		"a command":                      {exec(kopiurv1.ExecHook{PodSelector: app, Command: []string{"psql", "-c", "CHECKPOINT"}, Timeout: "30s"}), ""},
		"nothing":                        {kopiurv1.Hook{}, "at.beforeSnapshot[0]: Required value: write exactly one of workloadExec, runJob, httpRequest"},
		"two things":                     {kopiurv1.Hook{RunJob: running(`{}`).RunJob, HTTPRequest: sending().HTTPRequest}, "keep exactly one of workloadExec, runJob, httpRequest"},
		"a command in any pod":           {exec(kopiurv1.ExecHook{Command: []string{"true"}}), "at.beforeSnapshot[0].workloadExec.podSelector: Required value"},
		"a command that has no time":     {exec(kopiurv1.ExecHook{PodSelector: app, Command: []string{"true"}, Timeout: "0s"}), "workloadExec.timeout: Invalid value"},
		"no command":                     {exec(kopiurv1.ExecHook{PodSelector: app}), "workloadExec.command: Required value"},
		"a request":                      {requesting(kopiurv1.HTTPHook{URL: "http://app.apps.svc:8080/freeze?now=1", Method: "PUT", Body: "{}", Timeout: "10s"}), ""},
		"a request nowhere":              {requesting(kopiurv1.HTTPHook{}), "at.beforeSnapshot[0].httpRequest.url: Required value"},
		"a request to a file":            {requesting(kopiurv1.HTTPHook{URL: "file:///etc/passwd"}), "httpRequest.url: Forbidden: write http:// or https://"},
		"a request to no host":           {requesting(kopiurv1.HTTPHook{URL: "https:///freeze"}), "write http:// or https:// and a host"},
		"a request to a host alone":      {requesting(kopiurv1.HTTPHook{URL: "app:8080/freeze"}), "httpRequest.url: Forbidden"},
		"a request to a part of a page":  {requesting(kopiurv1.HTTPHook{URL: "https://app/#freeze"}), "what follows # is never sent"},
		"a method in small letters":      {requesting(kopiurv1.HTTPHook{URL: "https://app", Method: "post"}), "write it in capitals: POST"},
		"a method of one's own":          {requesting(kopiurv1.HTTPHook{URL: "https://app", Method: "FREEZE"}), "httpRequest.method: Unsupported value"},
		"a request that has no time":     {requesting(kopiurv1.HTTPHook{URL: "https://app", Timeout: "0"}), "httpRequest.timeout: Invalid value"},
		"headers":                        {sending(header("Authorization", "Bearer abc"), header("X-Reason", "backup, nightly"), header("X-Empty", "")), ""},
		"a header without a name":        {sending(header("", "x")), "httpRequest.headers[0].name: Required value"},
		"a header with its colon":        {sending(header("X-Reason:", "x")), "headers[0].name: Invalid value"},
		"a header of two words":          {sending(header("X Reason", "x")), "headers[0].name: Invalid value"},
		"a header with an umlaut":        {sending(header("X-Gründe", "x")), "headers[0].name: Invalid value"},
		"a header on two lines":          {sending(header("X-Reason", "a\r\nX-Other: b")), "headers[0].value: Forbidden: write it on one line"},
		"a header with a bell":           {sending(header("X-Reason", "a\ab")), "without control characters"},
		"a header with space at its end": {sending(header("X-Reason", "a ")), "white space at its ends"},
		"a header twice":                 {sending(header("X-Reason", "a"), header("x-reason", "b")), "headers[1].name: Duplicate value"},
		"a header that HTTP sets":        {sending(header("Content-Length", "5")), "HTTP sets Content-Length itself"},
		"credentials twice":              {requesting(kopiurv1.HTTPHook{URL: "https://u:secret@app", Headers: []kopiurv1.HTTPHeader{header("authorization", "Bearer abc")}}), "the address has a user and a password already"},
		"credentials in the address":     {requesting(kopiurv1.HTTPHook{URL: "https://u:secret@app"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := hooks(field.NewPath("at"), &kopiurv1.Hooks{BeforeSnapshot: []kopiurv1.Hook{tc.hook}})
			matches(t, got, tc.wantErr, "")
			errs, _ := texts(got)
			assert.NotContains(t, errs, "secret", "what may be a password is not repeated")
		})
	}
	t.Run("a hook after the snapshot has its own path", func(t *testing.T) {
		t.Parallel()
		got := hooks(field.NewPath("at"), &kopiurv1.Hooks{AfterSnapshot: []kopiurv1.Hook{sending(), {}}})
		matches(t, got, "at.afterSnapshot[1]: Required value", "")
	})
}

func TestJobSpec(t *testing.T) {
	t.Parallel()
	const container = `"name":"main","image":"busybox"`
	pod := func(spec string) string { return `{"backoffLimit":2,"template":{"spec":{` + spec + `}}}` }
	for name, tc := range map[string]struct{ spec, wantErr string }{
		"a container":                     {pod(`"restartPolicy":"Never","containers":[{` + container + `}]`), ""},
		"without a restart policy":        {pod(`"containers":[{` + container + `}]`), ""},
		"nothing":                         {``, "at: Required value: write the spec of a Job"},
		"null":                            {`null`, "at: Required value"},
		"no containers":                   {`{}`, "at.template.spec.containers: Required value: write at least one container"},
		"a container without a name":      {pod(`"containers":[{"image":"busybox"}]`), "at.template.spec.containers[0].name: Required value"},
		"a container without an image":    {pod(`"containers":[{` + container + `},{"name":"other"}]`), "at.template.spec.containers[1].image: Required value"},
		"a Job that never ends":           {pod(`"restartPolicy":"Always","containers":[{` + container + `}]`), "at.template.spec.restartPolicy: Invalid value: \"Always\": a Job ends"},
		"a Job that waits":                {`{"suspend":true,"template":{"spec":{"containers":[{` + container + `}]}}}`, "at.suspend: Forbidden"},
		"a number as text":                {`{"backoffLimit":"two","template":{}}`, "at.backoffLimit: Invalid value: this takes a whole number, not a text"},
		"half a retry":                    {`{"backoffLimit":1.5,"template":{}}`, "at.backoffLimit: Invalid value: this takes a whole number, not a fraction"},
		"a text as a number":              {pod(`"containers":[{` + container + `},{"name":"db","env":[{"name":"A","value":"1"},{"name":"PASSWORD","value":123456}]}]`), "at.template.spec.containers[1].env[1].value: Invalid value: this takes a text, not a number: write it in quotes"},
		"a list as fields":                {pod(`"containers":{` + container + `}`), "at.template.spec.containers: Invalid value: this takes a list, not an object"},
		"fields as a text":                {`{"template":{"spec":"containers"}}`, "at.template.spec: Invalid value: this takes an object, not a text"},
		"a switch as a text":              {`{"suspend":"no","template":{}}`, "at.suspend: Invalid value: this takes true or false, not a text"},
		"an amount that is none":          {pod(`"containers":[{` + container + `,"resources":{"limits":{"memory":"much"}}}]`), "at.template.spec.containers[0].resources.limits.memory: Invalid value: this is not understood: quantities must match"},
		"a time that is none":             {`{"template":{"metadata":{"creationTimestamp":"yesterday"}}}`, "at.template.metadata.creationTimestamp: Invalid value"},
		"a field that there is not":       {pod(`"containers":[{` + container + `,"comand":["true"]}]`), "at.template.spec.containers[0].comand: Invalid value: there is no such field: write command"},
		"a field in the wrong place":      {`{"containers":[{` + container + `}]}`, "at.containers: Invalid value: there is no such field here: it belongs to template.spec.containers"},
		"something else than an object":   {`[]`, "at: Invalid value: this takes an object, not a list"},
		"a document that is cut off":      {`{"template":`, "at: Invalid value"},
		"a field in other capitals":       {`{"backofflimit":2,"template":{}}`, "at.backofflimit: Invalid value: there is no such field: write backoffLimit"},
		"a port that is a name or number": {pod(`"containers":[{` + container + `,"livenessProbe":{"tcpSocket":{"port":true}}}]`), "at.template.spec.containers[0].livenessProbe.tcpSocket.port: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := jobSpec(field.NewPath("at"), []byte(tc.spec))
			matches(t, got, tc.wantErr, "")
			errs, _ := texts(got)
			assert.NotContains(t, errs, "123456", "what may be a password is not repeated")
		})
	}
	t.Run("every mistake is told at once", func(t *testing.T) {
		t.Parallel()
		got := jobSpec(field.NewPath("at"), []byte(`{"backoffLimit":"two","suspend":"no","template":{"spec":{"containers":[{"nam":"a"}]}}}`))
		assert.Len(t, got.Errors, 3)
	})
}

func TestDecodeJobSpec(t *testing.T) {
	t.Parallel()
	got, err := DecodeJobSpec([]byte(`{"template":{"spec":{"containers":[{"name":"a"}]}}}`))
	require.NoError(t, err)
	assert.Equal(t, corev1.RestartPolicyNever, got.Template.Spec.RestartPolicy)
	got, err = DecodeJobSpec([]byte(`{"template":{"spec":{"restartPolicy":"OnFailure"}}}`))
	require.NoError(t, err)
	assert.Equal(t, corev1.RestartPolicyOnFailure, got.Template.Spec.RestartPolicy)
	_, err = DecodeJobSpec([]byte(`{"template":[]}`))
	require.ErrorContains(t, err, "decode jobSpec")
}
