// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Expr is a compiled expression. It is safe for concurrent use.
type Expr[In any, Out string | bool] struct {
	env     *environment
	program cel.Program
	uses    []string
	accept  func(Out) error
}

// Identity, Success and Preflight are the three uses.
type (
	// Identity makes a username or a hostname.
	Identity = Expr[IdentityInput, string]
	// Success says whether a verification counts.
	Success = Expr[SuccessInput, bool]
	// Preflight says whether a run may start.
	Preflight = Expr[PreflightInput, bool]
)

// CompileIdentity compiles an expression that makes a username or a hostname.
func CompileIdentity(text string) (*Identity, error) {
	return compile(text, identityEnv, IdentityPart, identitySample)
}

// CompileSuccess compiles a successExpr for the tiers that a policy has: one that would never hold in one of them is
// refused.
func CompileSuccess(text string, tiers ...string) (*Success, error) {
	var of []func(string, map[string]string) SuccessInput
	for _, tier := range tiers {
		switch tier {
		case TierQuick:
			of = append(of, quickSample)
		case TierDeep:
			of = append(of, deepSample)
		default:
			return nil, fmt.Errorf("there is no tier %q of verification", tier)
		}
	}
	e, err := compile(text, successEnv, anything[bool], of...)
	if unknown := (*UnknownError)(nil); errors.As(err, &unknown) {
		return nil, fmt.Errorf(`expression: %w in quick verification: write tier == "quick" || …`, err)
	}
	return e, err
}

// CompilePreflight compiles a check that is made before a run.
func CompilePreflight(text string) (*Preflight, error) {
	return compile(text, preflightEnv, anything[bool], preflightSample)
}

// anything is acceptable.
func anything[Out any](Out) error { return nil }

// UnknownError says which variables an expression would need that are not known.
type UnknownError struct{ Variables []string }

func (e *UnknownError) Error() string {
	return strings.Join(e.Variables, ", ") + " is not known"
}

// Uses lists the variables that the expression names, in order: nobody has to fetch more.
func (e *Expr[In, Out]) Uses() []string { return slices.Clone(e.uses) }

// Eval evaluates the expression. It returns an UnknownError where the result depends on what the input does not know.
func (e *Expr[In, Out]) Eval(in In) (Out, error) {
	var none Out
	vars, unknown := e.env.activation(in)
	activation, err := cel.PartialVars(vars, unknown...)
	if err != nil {
		return none, fmt.Errorf("evaluate expression: %w", err)
	}
	result, _, err := e.program.Eval(activation)
	if u, ok := result.(*types.Unknown); ok {
		return none, &UnknownError{Variables: namesOf(u)}
	}
	if err != nil {
		return none, runtimeError(err)
	}
	out, ok := result.Value().(Out)
	if !ok {
		return none, fmt.Errorf("expression gives %s, not %s", plain(result.Type().TypeName()), nameOf[Out]())
	}
	return out, e.accept(out)
}

func namesOf(u *types.Unknown) []string {
	var names []string
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, trail := range trails {
			names = append(names, outer(trail.Variable()))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func runtimeError(err error) error {
	text := plain(err.Error())
	switch {
	case strings.Contains(text, "actual cost limit exceeded"):
		return errors.New("expression does more than it may: look at fewer things, or at each of them less often")
	case strings.Contains(text, "no such key"):
		return fmt.Errorf(`expression: %s; ask for it first, such as "team" in labels && labels["team"] == "web"`, text)
	default:
		return fmt.Errorf("expression: %s", text)
	}
}

func nameOf[Out string | bool]() string {
	var out Out
	if _, ok := any(out).(string); ok {
		return "string"
	}
	return "bool"
}

// compile checks all that can be checked before there is an input. Since made-up input says little about real one, an
// expression is refused only where no sample gives an acceptable result.
func compile[In any, Out string | bool](
	text string, from func() (*environment, error), accept func(Out) error, of ...func(string, map[string]string) In,
) (*Expr[In, Out], error) {
	env, err := from()
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("expression is empty; %s", env.variables)
	}
	if len(text) > MaxLength {
		return nil, fmt.Errorf("expression has %d bytes: write at most %d", len(text), MaxLength)
	}
	checked, issues := env.cel.Compile(rename(text))
	if issues.Err() != nil {
		return nil, env.explain(text, issues)
	}
	if got, want := checked.OutputType().String(), nameOf[Out](); got != want {
		return nil, fmt.Errorf("expression gives %s, not %s; %s", plain(got), want, env.variables)
	}
	if err := env.affordable(checked); err != nil {
		return nil, err
	}
	program, err := env.cel.Program(checked,
		cel.CostLimit(costLimit),
		cel.EvalOptions(cel.OptPartialEval, cel.OptOptimize),
	)
	if err != nil {
		return nil, runtimeError(err)
	}
	e := &Expr[In, Out]{env: env, program: program, uses: env.used(checked), accept: accept}
	for _, sample := range of {
		if err := e.try(samples(checked, sample)); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// try evaluates samples until one gives a result; else the first one's error says it best.
func (e *Expr[In, Out]) try(samples []In) error {
	var first error
	for _, in := range samples {
		_, err := e.Eval(in)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}
