// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strings"

	"github.com/antlr4-go/antlr/v4"
	"github.com/google/cel-go/parser/gen"
)

// CEL reserves the word namespace, which is one of our variables. Before an expression is parsed, the variable, and
// nothing else that reads so, gets a name of the same length, so that all places in messages stay right.
const (
	reserved = "namespace"
	renamed  = "namespac_"
)

// rename gives the variable in an expression its inner name. What is text, a comment or a field stays as it is.
func rename(text string) string {
	if !strings.Contains(text, reserved) {
		return text
	}
	lexer := gen.NewCELLexer(antlr.NewInputStream(text))
	lexer.RemoveErrorListeners() // the parser proper reports what is wrong
	runes := []rune(text)
	previous := antlr.TokenEOF
	for token := lexer.NextToken(); token.GetTokenType() != antlr.TokenEOF; token = lexer.NextToken() {
		if token.GetTokenType() == gen.CELLexerIDENTIFIER && previous != gen.CELLexerDOT && token.GetText() == reserved {
			copy(runes[token.GetStart():], []rune(renamed))
		}
		if token.GetChannel() == antlr.TokenDefaultChannel {
			previous = token.GetTokenType()
		}
	}
	return string(runes)
}

// inner is the name that a variable is declared under.
func inner(name string) string {
	if name == reserved {
		return renamed
	}
	return name
}

// outer is the name that a variable is written with.
func outer(name string) string {
	if name == renamed {
		return reserved
	}
	return name
}
