// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Samples stand for what is not known at admission. Their maps have every key that the expression names, their numbers
// are those of a run that went well.

// sampleTexts are tried one after the other: an expression may read a number or a time from a label.
var sampleTexts = []string{"sample", "1", "1s", "2026-01-02T03:04:05Z"}

// samples makes one input per text, and one whose maps are empty.
func samples[In any](checked *cel.Ast, of func(text string, m map[string]string) In) []In {
	keys := append(keysOf(checked), sampleTexts[0])
	var out []In
	for _, text := range sampleTexts {
		m := make(map[string]string, len(keys))
		for _, key := range keys {
			m[key] = text
		}
		out = append(out, of(text, m))
	}
	return append(out, of(sampleTexts[0], map[string]string{}))
}

// keysOf lists what an expression might look up in a map: its string literals and the names of fields.
func keysOf(checked *cel.Ast) []string {
	var keys []string
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.LiteralKind:
			if s, ok := e.AsLiteral().(types.String); ok {
				keys = append(keys, string(s))
			}
		case ast.SelectKind:
			keys = append(keys, e.AsSelect().FieldName())
		default:
		}
	}))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func identitySample(text string, m map[string]string) IdentityInput {
	return IdentityInput{Namespace: text, PolicyName: text, Labels: m, Annotations: m, Cluster: text}
}

func quickSample(text string, _ map[string]string) SuccessInput {
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return SuccessInput{
		Tier:     TierQuick,
		Stats:    &Stats{Files: 1000, Bytes: 1 << 30},
		Snapshot: &Snapshot{ID: text, Identity: text + "@" + text + ":/" + text, StartTime: end.Add(-time.Minute), EndTime: end},
	}
}

func deepSample(text string, m map[string]string) SuccessInput {
	in := quickSample(text, m)
	in.Tier, in.Restored = TierDeep, &Restored{Files: in.Stats.Files, ChecksumMatches: true}
	return in
}

func preflightSample(text string, m map[string]string) PreflightInput {
	return PreflightInput{
		Namespace: text, PolicyName: text, Labels: m, Annotations: m, Cluster: text, Origin: "scheduled",
		NamespaceLabels: m, NamespaceAnnotations: m,
		Repository: &Repository{Name: text, Kind: "Repository", Phase: "Ready", Snapshots: 100, Bytes: 1 << 40, IndexBlobs: 10},
		PVC: &PVC{
			Name: text, Labels: m, Annotations: m, Phase: "Bound", StorageClassName: text, VolumeMode: "Filesystem",
			AccessModes: []string{"ReadWriteOnce"}, Bytes: 10 << 30,
		},
		Pods: []Pod{{Name: text, Labels: m, Phase: "Running", Ready: true}},
	}
}
