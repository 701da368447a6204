// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// served is the handler over a connection.
func served(t *testing.T, rules Rules) *httptest.Server {
	t.Helper()
	h, err := Handler(logr.Discard(), NewValidator(rules, NewOthers(&world{}, clocktesting.NewFakePassiveClock(now))), NewMutator(rules))
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// post sends one review and returns the answer's response.
func post(t *testing.T, s *httptest.Server, path, kind, object, old string) *admissionv1.AdmissionResponse {
	t.Helper()
	req := &admissionv1.AdmissionRequest{
		UID: "request-1", Operation: admissionv1.Create, Namespace: "apps", Name: "data",
		Kind:   metav1.GroupVersionKind{Group: kopiurv1.GroupName, Version: "v1alpha1", Kind: kind},
		Object: runtime.RawExtension{Raw: []byte(object)},
	}
	if old != "" {
		req.Operation, req.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(old)}
	}
	review := admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req}
	body, err := json.Marshal(review)
	require.NoError(t, err)
	code, answer := send(t, s, path, body)
	require.Equal(t, http.StatusOK, code)
	var got admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(answer, &got))
	require.NotNil(t, got.Response)
	assert.Equal(t, req.UID, got.Response.UID)
	return got.Response
}

func send(t *testing.T, s *httptest.Server, path string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, answer
}

// quotas refuse a description with "bad" and one with "worse", and warn about every one.
func quotas() Rules {
	r := Standard()
	r.Object = func(o runtime.Object) validation.Findings {
		f := validation.Findings{Warnings: []string{"mind the gap", "mind the gap"}}
		description := o.(*kopiurv1.Snapshot).Spec.Description
		if bytes.Contains([]byte(description), []byte("bad")) {
			f.Errors = append(f.Errors, field.Invalid(field.NewPath("spec", "description"), "bad", "write something good"))
		}
		if bytes.Contains([]byte(description), []byte("worse")) {
			f.Errors = append(f.Errors, field.Required(field.NewPath("spec", "source"), "name a source"))
		}
		return f
	}
	r.Update = func(o, old runtime.Object) validation.Findings {
		var f validation.Findings
		if o.(*kopiurv1.Snapshot).Spec.Pin != old.(*kopiurv1.Snapshot).Spec.Pin {
			f.Errors = append(f.Errors, field.Forbidden(field.NewPath("spec", "pin"), "it cannot change"))
		}
		return f
	}
	r.Pending = func(runtime.Object) []validation.Pending { return nil }
	return r
}

func snapshot(spec string) string {
	return `{"apiVersion":"kopiur.home-operations.com/v1alpha1","kind":"Snapshot","metadata":{"namespace":"apps","name":"data"},"spec":` + spec + `}`
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const gap = "mind the gap"
	for name, tc := range map[string]struct {
		object, old  string
		want         []string // causes, as field: message
		wantWarnings []string
	}{
		"what nothing is wrong with passes, and a warning is given once": {
			object: snapshot(`{"description":"good"}`), wantWarnings: []string{gap},
		},
		"every error is in one answer, with field and message": {
			object: snapshot(`{"description":"bad and worse"}`), wantWarnings: []string{gap},
			want: []string{`spec.description: Invalid value: "bad": write something good`, `spec.source: Required value: name a source`},
		},
		"what was wrong before an update may stay, and is told": {
			object: snapshot(`{"description":"bad","tags":{"a":"b"}}`), old: snapshot(`{"description":"bad"}`),
			wantWarnings: []string{gap, `spec.description: Invalid value: "bad": write something good (so before this change)`},
		},
		"what an update adds is refused": {
			object: snapshot(`{"description":"bad and worse"}`), old: snapshot(`{"description":"bad"}`),
			want:         []string{`spec.source: Required value: name a source`},
			wantWarnings: []string{gap, `spec.description: Invalid value: "bad": write something good (so before this change)`},
		},
		"a change that may not be made is refused": {
			object: snapshot(`{"pin":true}`), old: snapshot(`{}`), want: []string{`spec.pin: Forbidden: it cannot change`}, wantWarnings: []string{gap},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := post(t, served(t, quotas()), PathValidate, "Snapshot", tc.object, tc.old)
			assert.Equal(t, len(tc.want) == 0, got.Allowed)
			assert.Equal(t, tc.wantWarnings, got.Warnings)
			if got.Allowed {
				return
			}
			require.NotNil(t, got.Result)
			assert.Equal(t, metav1.StatusReasonInvalid, got.Result.Reason)
			assert.EqualValues(t, http.StatusUnprocessableEntity, got.Result.Code)
			assert.Equal(t, "data", got.Result.Details.Name)
			var causes []string
			for _, c := range got.Result.Details.Causes {
				causes = append(causes, c.Field+": "+c.Message)
				assert.Contains(t, got.Result.Message, c.Message, "who reads the message alone knows as much")
			}
			assert.Equal(t, tc.want, causes)
		})
	}
}

func TestWhatCannotBeReadDoesNotPass(t *testing.T) {
	t.Parallel()
	s := served(t, Standard())
	for name, tc := range map[string]struct{ kind, object, old, want string }{
		"a number for a text":             {"Snapshot", snapshot(`{"description":5}`), "", "read Snapshot: "},
		"a stored object that is another": {"Snapshot", snapshot(`{}`), snapshot(`{"tags":[]}`), "the stored object: read Snapshot: "},
		"a kind of a newer version":       {"Backup", snapshot(`{}`), "", "this webhook does not know Backup"},
		"a list":                          {"SnapshotList", snapshot(`{}`), "", "SnapshotList is not an object of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{PathValidate, PathMutate} {
				got := post(t, s, path, tc.kind, tc.object, tc.old)
				assert.False(t, got.Allowed)
				assert.Contains(t, got.Result.Message, tc.want)
				assert.EqualValues(t, http.StatusBadRequest, got.Result.Code)
			}
		})
	}
	code, _ := send(t, s, "/convert", nil)
	assert.Equal(t, http.StatusNotFound, code)
	_, answer := send(t, s, PathValidate, []byte(`{`))
	assert.Contains(t, string(answer), `"allowed":false`)
}

func TestMutate(t *testing.T) {
	t.Parallel()
	s := served(t, Standard())
	const config, policy = "/metadata/labels/kopiur.home-operations.com~1config", "/metadata/labels/kopiur.home-operations.com~1policy"
	withLabels := func(labels string) string {
		return `{"apiVersion":"kopiur.home-operations.com/v1alpha1","kind":"Snapshot","metadata":{"name":"x","labels":` + labels + `},"spec":{"policyRef":{"name":"data"}}}`
	}
	for name, tc := range map[string]struct{ object, old, want string }{
		"a Snapshot of a policy is labelled with its name": {
			object: snapshot(`{"policyRef":{"name":"data"}}`),
			want:   `[{"op":"add","path":"/metadata/labels","value":{}},{"op":"add","path":"` + config + `","value":"data"},{"op":"add","path":"` + policy + `","value":"data"}]`,
		},
		"other labels stay": {
			object: withLabels(`{"team":"shop"}`),
			want:   `[{"op":"add","path":"` + config + `","value":"data"},{"op":"add","path":"` + policy + `","value":"data"}]`,
		},
		"only what is missing is added": {
			object: withLabels(`{"kopiur.home-operations.com/config":"data"}`),
			want:   `[{"op":"add","path":"` + policy + `","value":"data"}]`,
		},
		"another policy's name is put right": {
			object: withLabels(`{"kopiur.home-operations.com/config":"other","kopiur.home-operations.com/policy":"data"}`),
			want:   `[{"op":"add","path":"` + config + `","value":"data"}]`,
		},
		"one that has its labels is left alone": {object: withLabels(`{"kopiur.home-operations.com/config":"data","kopiur.home-operations.com/policy":"data"}`)},
		"one without a policy is left alone":    {object: snapshot(`{}`)},
		"an update is left alone":               {object: snapshot(`{"policyRef":{"name":"data"}}`), old: snapshot(`{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := post(t, s, PathMutate, "Snapshot", tc.object, tc.old)
			assert.True(t, got.Allowed)
			if tc.want == "" {
				assert.Empty(t, got.Patch)
				return
			}
			assert.JSONEq(t, tc.want, string(got.Patch))
		})
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	problems, err := testutil.CollectAndLint(admissions)
	require.NoError(t, err)
	assert.Empty(t, problems)
	rules := quotas()
	rules.Object = func(o runtime.Object) validation.Findings {
		if o.(*kopiurv1.Maintenance).Spec.Repository.Name == "" {
			return validation.Findings{Errors: field.ErrorList{field.Required(field.NewPath("spec"), "")}}
		}
		return validation.Findings{}
	}
	s := served(t, rules)
	post(t, s, PathValidate, "Maintenance", `{"spec":{"repository":{"name":"nas"}}}`, "")
	post(t, s, PathValidate, "Maintenance", `{"spec":{}}`, "")
	post(t, s, PathValidate, "Maintenance", `{"spec":5}`, "")
	for _, decision := range []string{decisionAllowed, decisionDenied, decisionErrored} {
		assert.InDelta(t, 1, testutil.ToFloat64(admissions.WithLabelValues("Maintenance", decision)), 0, decision)
	}
}
