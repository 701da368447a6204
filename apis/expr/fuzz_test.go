// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// huge is an input far larger than assumed: as large as etcd takes.
func huge() map[string]string {
	m := map[string]string{}
	for i := range 5000 {
		m[fmt.Sprintf("key-%d", i)] = strings.Repeat("a", 100)
	}
	m["long"] = strings.Repeat("a", 200_000)
	return m
}

// evaluate runs a compiled expression as Eval does and reports its cost.
func evaluate[In any, Out string | bool](t *testing.T, e *Expr[In, Out], in In) {
	t.Helper()
	vars, unknown := e.env.activation(in)
	activation, err := cel.PartialVars(vars, unknown...)
	require.NoError(t, err)
	begun := time.Now()
	_, details, err := e.program.Eval(activation)
	took := time.Since(begun)
	if details != nil && details.ActualCost() != nil {
		// The step that goes beyond the limit is the last one; it is bounded by what it works on.
		if cost := *details.ActualCost(); cost > costLimit {
			require.Error(t, err, "cost %d", cost)
		}
	}
	assert.Less(t, took, 20*time.Second, "an evaluation ends")
	_, err = e.Eval(in)
	if err != nil {
		assert.NotEmpty(t, err.Error())
	}
}

// Whatever is written, nothing panics, nothing runs for long, and every refusal has words.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		`namespace`, `namespace + "." + cluster`, `labels.team`, `labels["a"]`, `"namespace" + namespace`, `r'\' + namespace`, `'''`, `"`, "`a`",
		`labels.exists(a, annotations.exists(b, a == b)) ? "a" : "b"`, `labels.map(k, labels[k])[0]`, `annotations["long"] + annotations["long"]`,
		`stats.errors == 0 && stats.files > 0`, `tier == "quick" || restored.checksumMatches`, `snapshot.endTime - snapshot.startTime < duration("1h")`,
		`pods.all(p, p.ready)`, `pvc.bytes < 1e12`, `size(pods) == 0`, `has(pvc.labels.app)`, `expr.Stats{files: 1}.files == 1`, `type(stats) == expr.Stats`,
		`1/0 == 1`, `9223372036854775807 + 1 > 0`, `duration("1s") + timestamp("9999-12-31T23:59:59Z") > snapshot.endTime`, `[[1]][0][0] == 1`,
		`annotations["long"].matches("(a*)*b")`, `{"a": 1}["a"] == 1`, `b"\xff" == b"namespace"`, `.namespace`, `labels.namespace`, `labels.?namespace`, `dyn(stats).nofield`,
		`namespace . namespace`, "// namespace", `"\u{1F600}" + namespace`, "\xff", `a ? namespace : namespace`,
	} {
		f.Add(text)
	}
	large := huge()
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := CompileIdentity(text); err == nil {
			evaluate(t, e, IdentityInput{Namespace: "a", PolicyName: "b", Labels: large, Annotations: large})
			evaluate(t, e, IdentityInput{})
		} else {
			assert.NotEmpty(t, err.Error())
			assert.Less(t, len(err.Error()), 2*MaxLength)
		}
		if e, err := CompileSuccess(text, TierQuick, TierDeep); err == nil {
			evaluate(t, e, SuccessInput{Tier: TierDeep, Stats: &Stats{Files: 1 << 62, Bytes: -1}, Snapshot: &Snapshot{}, Restored: &Restored{}})
			evaluate(t, e, SuccessInput{})
		}
		if e, err := CompilePreflight(text); err == nil {
			evaluate(t, e, PreflightInput{Labels: large, NamespaceLabels: large, PVC: &PVC{Labels: large}, Pods: make([]Pod, 5000)})
			evaluate(t, e, PreflightInput{})
		}
	})
}

// Renaming keeps every other character where it is.
func FuzzRename(f *testing.F) {
	for _, text := range []string{`namespace`, `"namespace"`, `a.namespace`, `r'namespace' + namespace`, "'''namespace\n''' // namespace", `ö namespace`, "\xffnamespace"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, renamed) || !utf8.ValidString(text) {
			return
		}
		assert.Equal(t, text, strings.ReplaceAll(rename(text), renamed, reserved))
	})
}

// An estimate trusts sizes; where an object is larger than that, the limit of the evaluation itself holds.
func TestCostIsLimitedAtRunTime(t *testing.T) {
	t.Parallel()
	e, err := CompileIdentity(`annotations.exists(a, annotations.exists(b, a + b == "x")) ? "a" : "b"`)
	require.NoError(t, err)
	_, err = e.Eval(IdentityInput{Annotations: huge()})
	require.EqualError(t, err, "expression does more than it may: look at fewer things, or at each of them less often")
}

func BenchmarkEval(b *testing.B) {
	e, err := CompileIdentity(`has(labels.team) ? labels.team + "." + namespace : namespace`)
	require.NoError(b, err)
	for b.Loop() {
		_, err = e.Eval(IdentityInput{Namespace: "apps", Labels: map[string]string{"team": "web"}})
		require.NoError(b, err)
	}
}
