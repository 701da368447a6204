// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/expr"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	in := expr.IdentityInput{
		Namespace: "apps", PolicyName: "nightly", Cluster: "home",
		Labels:      map[string]string{"team": "web", "namespace": "labelled", "shard": "7"},
		Annotations: map[string]string{"example.org/host": "nas", "empty": "", "bad": "a@b"},
	}
	for name, tc := range map[string]struct{ expr, want, wantErr string }{
		"the namespace, a word that CEL reserves":       {expr: `namespace`, want: "apps"},
		"parts are joined":                              {expr: `namespace + "." + cluster`, want: "apps.home"},
		"the namespace with white space around":         {expr: "\n  namespace\n", want: "apps"},
		"the namespace in a function":                   {expr: `namespace.startsWith("app") ? policyName : namespace`, want: "nightly"},
		"the word in a text stays":                      {expr: `"namespace"`, want: "namespace"},
		"the word in a raw text stays":                  {expr: `r"\namespace" + namespace`, want: `\namespaceapps`},
		"the word in a long text stays":                 {expr: `'''namespace"'namespace''' + namespace`, want: `namespace"'namespaceapps`},
		"the word as a key stays":                       {expr: `labels.namespace + namespace`, want: "labelledapps"},
		"the word as a key with space before it stays":  {expr: `labels . namespace`, want: "labelled"},
		"the word in a comment stays":                   {expr: "policyName // of namespace\n + namespace", want: "nightlyapps"},
		"the word as part of another stays":             {expr: `["x"].map(my_namespace, my_namespace)[0]`, want: "x"},
		"the word after a letter of two units":          {expr: `"ö" + namespace`, want: "öapps"},
		"a label":                                       {expr: `labels.team`, want: "web"},
		"a label by its key":                            {expr: `labels["team"]`, want: "web"},
		"an annotation with a prefix":                   {expr: `annotations["example.org/host"]`, want: "nas"},
		"a choice by what there is":                     {expr: `"owner" in labels ? labels["owner"] : namespace`, want: "apps"},
		"a choice by has":                               {expr: `has(labels.owner) ? labels.owner : namespace`, want: "apps"},
		"a number from a label":                         {expr: `string(int(labels.shard) % 4)`, want: "3"},
		"a label that this policy does not have":        {expr: `labels.owner`, wantErr: `no such key: owner; ask for it first`},
		"an empty part":                                 {expr: `annotations.empty`, wantErr: "must not be empty"},
		"a part that would end the username":            {expr: `annotations.bad`, wantErr: `"a@b" cannot be a username or hostname: it must not contain @`},
		"a number where a text is due at evaluation":    {expr: `string(int(labels.team))`, wantErr: "type conversion error"},
		"a comparison of a number with a fraction":      {expr: `size(namespace) > 1.5 ? "long" : "short"`, want: "long"},
		"an element of a list of texts":                 {expr: `[namespace, policyName][1]`, want: "nightly"},
		"the keys of labels can be listed and filtered": {expr: `labels.filter(k, k == "team").size() == 1 ? "one" : "none"`, want: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := expr.CompileIdentity(tc.expr)
			if err == nil {
				var got string
				got, err = e.Eval(in)
				if err == nil {
					assert.Equal(t, tc.want, got)
				}
			}
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
		})
	}
}

// What is refused at admission says where, what and what there is.
func TestRefusals(t *testing.T) {
	t.Parallel()
	identity := func(text string) error { _, err := expr.CompileIdentity(text); return err }
	quick := func(text string) error { _, err := expr.CompileSuccess(text, expr.TierQuick); return err }
	deep := func(text string) error { _, err := expr.CompileSuccess(text, expr.TierDeep); return err }
	preflight := func(text string) error { _, err := expr.CompilePreflight(text); return err }
	const identityVars = "; the variables are namespace, policyName, labels, annotations, cluster"
	const successVars = "; the variables are tier, stats{files, bytes, errors}, snapshot{id, identity, startTime, endTime}, restored{files, checksumMatches}"
	for name, tc := range map[string]struct {
		compile    func(string) error
		expr, want string
	}{
		"nothing":                                       {identity, " ", "expression is empty" + identityVars},
		"a misspelt variable":                           {identity, `namespace + "-" + polcyName`, `expression, column 19, at "polcyName": undeclared reference to 'polcyName'` + identityVars},
		"a misspelt variable on a third line":           {identity, "namespace\n+\n  foo", `expression, line 3, column 3, at "foo": undeclared reference to 'foo'`},
		"a place after a letter of two units":           {identity, `"ö" + foo`, `column 7, at "foo"`},
		"a misspelt field":                              {quick, `stats.file == 0`, `expression, column 6, at ".file == 0": undefined field 'file'` + successVars},
		"a variable of another use":                     {identity, `stats.files`, `undeclared reference to 'stats'`},
		"a text with a number":                          {identity, `namespace + 1`, `found no matching overload for '+' applied to '(string, int)'`},
		"an object with a number":                       {quick, `stats > 0`, `found no matching overload for '>' applied to '(Stats, int)'`},
		"an expression that breaks off":                 {identity, `namespace +`, `expression, column 12: it ends too early` + identityVars},
		"a stray bracket":                               {identity, `namespace)`, `expression, column 10, at ")": `},
		"a number for a text":                           {identity, `size(namespace)`, "expression gives int, not string" + identityVars},
		"a text for a truth":                            {quick, `tier`, "expression gives string, not bool" + successVars},
		"a type that is not known before":               {quick, `true ? dyn(1) : false`, "expression gives dyn, not bool"},
		"a clock":                                       {quick, `now() > snapshot.endTime`, `undeclared reference to 'now'`},
		"a bad pattern":                                 {identity, `namespace.matches("[") ? "a" : "b"`, `expression, column 19, at "\"[\") ? \"a\" : \"b\"": invalid matches argument`},
		"a bad duration":                                {quick, `snapshot.endTime - snapshot.startTime < duration("1 day")`, "invalid duration argument"},
		"a division by zero":                            {identity, `string(1/0)`, "expression: division by zero"},
		"always empty":                                  {identity, `""`, "must not be empty"},
		"always a bad part":                             {identity, `namespace + "@" + cluster`, "it must not contain @"},
		"what only deep has, in quick":                  {quick, `restored.checksumMatches`, `restored is not known in quick verification: write tier == "quick" || …`},
		"what only deep has, after a check that passes": {quick, `stats.errors == 0 && restored.files > 0`, `restored is not known in quick verification`},
		"too long":                                      {identity, `"` + strings.Repeat("x", 1023) + `"`, "expression has 1025 bytes: write at most 1024"},
		"loops within loops":                            {identity, `labels.exists(a, labels.exists(b, labels.exists(c, true))) ? "a" : "b"`, "comprehension exceeds nesting limit"},
		"too much for what it is":                       {identity, `labels.exists(a, annotations.exists(b, (a+b+a+b+a+b+a+b).matches(a+b+a+b+a+b+a+b+a+b+a+b))) ? "a" : "b"`, "expression could do more than it may"},
		"too deep":                                      {identity, strings.Repeat("(", 300) + "namespace" + strings.Repeat(")", 300), "expression recursion limit exceeded"},
		"a field of a pod":                              {preflight, `pods.all(p, p.redy)`, `expression, column 14, at ".redy)": undefined field 'redy'; the variables are namespace, `},
		"fields of lists are listed": {preflight, `x`, `repository{name, kind, phase, snapshots, bytes, indexBlobs}, ` +
			`pvc{name, labels, annotations, phase, storageClassName, volumeMode, accessModes, bytes}, pods[{name, labels, phase, ready}]`},
		"deep alone may use it": {deep, `restored.checksumMatches && restored.nofield`, `undefined field 'nofield'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.compile(tc.expr)
			require.ErrorContains(t, err, tc.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), "expr.", "our package is none of the user's business")
			assert.NotContains(t, err.Error(), "namespac_")
		})
	}
}

func TestUnknownTier(t *testing.T) {
	t.Parallel()
	_, err := expr.CompileSuccess("true", "shallow")
	require.ErrorContains(t, err, `there is no tier "shallow"`)
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	deep := expr.SuccessInput{
		Tier:     expr.TierDeep,
		Stats:    &expr.Stats{Files: 10, Bytes: 5_000_000_000},
		Snapshot: &expr.Snapshot{ID: "k1", Identity: "nightly@apps:/pvc/data", StartTime: start, EndTime: start.Add(time.Minute)},
		Restored: &expr.Restored{Files: 10, ChecksumMatches: true},
	}
	quick := deep
	quick.Tier, quick.Restored = expr.TierQuick, nil
	for name, tc := range map[string]struct {
		expr        string
		quick, deep bool
	}{
		"no errors":                      {`stats.errors == 0`, true, true},
		"enough files":                   {`stats.files > 9 && stats.files < 10.5`, true, true},
		"more than there are":            {`stats.files > 10`, false, false},
		"sizes as powers of ten":         {`stats.bytes > 1e9`, true, true},
		"checksums where there are some": {`tier == "quick" || restored.checksumMatches`, true, true},
		"all files, in deep only":        {`tier == "deep" && restored.files == stats.files`, false, true},
		"how long it took":               {`snapshot.endTime - snapshot.startTime < duration("1h")`, true, true},
		"when it was":                    {`snapshot.startTime.getHours("Europe/Berlin") == 4`, true, true},
		"a time from a time":             {`timestamp(snapshot.startTime) > timestamp("2025-12-31T00:00:00Z")`, true, true},
		"whose it is":                    {`snapshot.identity.startsWith("nightly@apps:")`, true, true},
		"which one it is":                {`snapshot.id == "k1"`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := expr.CompileSuccess(tc.expr, expr.TierQuick, expr.TierDeep)
			require.NoError(t, err)
			got, err := e.Eval(quick)
			require.NoError(t, err)
			assert.Equal(t, tc.quick, got, "quick")
			got, err = e.Eval(deep)
			require.NoError(t, err)
			assert.Equal(t, tc.deep, got, "deep")
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	known := expr.PreflightInput{
		Namespace: "apps", PolicyName: "nightly", Origin: "scheduled",
		Labels:               map[string]string{"tier": "gold"},
		NamespaceLabels:      map[string]string{"backup": "on"},
		NamespaceAnnotations: map[string]string{},
		Repository:           &expr.Repository{Name: "nas", Kind: "Repository", Phase: "Ready", Snapshots: 3, Bytes: 1 << 30},
		PVC:                  &expr.PVC{Name: "data", Phase: "Bound", AccessModes: []string{"ReadWriteOnce"}, Bytes: 10 << 30},
		Pods:                 []expr.Pod{{Name: "db-0", Phase: "Running", Ready: true, Labels: map[string]string{"app": "db"}}},
	}
	early := known
	early.PVC, early.Pods, early.Repository = nil, nil, nil
	idle := known
	idle.Pods = []expr.Pod{}
	for name, tc := range map[string]struct {
		expr    string
		in      expr.PreflightInput
		want    bool
		unknown []string
	}{
		"the claim is bound":                               {`pvc.phase == "Bound"`, known, true, nil},
		"the claim is not there yet":                       {`pvc.phase == "Bound"`, early, false, []string{"pvc"}},
		"two are not there yet":                            {`pvc.phase == "Bound" && repository.phase == "Ready"`, early, false, []string{"pvc", "repository"}},
		"what is not there does not matter":                {`origin == "scheduled" || pvc.phase == "Bound"`, early, true, nil},
		"what is not there cannot help":                    {`pvc.phase == "Bound" && namespace == "other"`, early, false, nil},
		"every pod is ready":                               {`pods.all(p, p.ready)`, known, true, nil},
		"a pod of an app runs":                             {`pods.exists(p, p.labels["app"] == "db" && p.phase == "Running")`, known, true, nil},
		"no pod is not the same as not known":              {`size(pods) == 0`, idle, true, nil},
		"pods are not known yet":                           {`size(pods) == 0`, early, false, []string{"pods"}},
		"a label of the namespace":                         {`namespaceLabels["backup"] == "on"`, known, true, nil},
		"the claim's access mode":                          {`"ReadWriteMany" in pvc.accessModes`, known, false, nil},
		"the repository's size":                            {`repository.bytes < 1e12 && repository.snapshots < 1000`, known, true, nil},
		"an annotation that is not there, asked for first": {`!("hold" in namespaceAnnotations)`, known, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := expr.CompilePreflight(tc.expr)
			require.NoError(t, err)
			got, err := e.Eval(tc.in)
			if tc.unknown != nil {
				var unknown *expr.UnknownError
				require.ErrorAs(t, err, &unknown)
				assert.Equal(t, tc.unknown, unknown.Variables)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	e, err := expr.CompilePreflight(`pods.all(pod, pod.ready) || namespace == "pvc" || labels.repository == "x"`)
	require.NoError(t, err)
	assert.Equal(t, []string{"labels", "namespace", "pods"}, e.Uses())
}
