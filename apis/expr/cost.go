// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
)

const (
	// MaxLength of an expression, in bytes.
	MaxLength = 1024
	// costLimit ends an evaluation, after a few hundredths of a second at worst.
	costLimit = 100_000
	// estimateLimit refuses what could cost more on an input of the sizes below. It is far above the other limit, as
	// estimates are far above what happens.
	estimateLimit = 100 * costLimit
	// Sizes that an input is assumed to have: entries of a map or a list, characters of a string.
	assumedEntries = 64
	assumedLength  = 256
)

// affordable refuses an expression that could be too expensive.
func (e *environment) affordable(checked *cel.Ast) error {
	cost, err := e.cel.EstimateCost(checked, sizes{})
	if err != nil {
		return runtimeError(err)
	}
	if cost.Max > estimateLimit {
		return errors.New("expression could do more than it may: look at fewer things, or at each of them less often")
	}
	return nil
}

// sizes tells the estimator how large things are that it cannot see.
type sizes struct{}

// EstimateSize of a map, list or string.
func (sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	switch element.Type().Kind() {
	case types.MapKind, types.ListKind:
		return &checker.SizeEstimate{Min: 0, Max: assumedEntries}
	default:
		return &checker.SizeEstimate{Min: 0, Max: assumedLength}
	}
}

// EstimateCallCost leaves the functions to the estimator.
//
//nolint:gocritic // the interface wants a pointer
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
