// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// environment is one use's variables and what may be done with them.
type environment struct {
	cel *cel.Env
	// variables is the sentence for messages.
	variables string
	fields    []variable
}

// variable is a field of the input.
type variable struct {
	name  string
	index int
}

var (
	identityEnv  = sync.OnceValues(newEnvironment[IdentityInput])
	successEnv   = sync.OnceValues(newEnvironment[SuccessInput])
	preflightEnv = sync.OnceValues(newEnvironment[PreflightInput])
)

// newEnvironment declares the fields of In as variables. The standard functions of CEL are all there is: they do no
// I/O and know no clock, and each has a cost.
func newEnvironment[In any]() (*environment, error) {
	e := &environment{}
	var described []string
	var objects []any
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(64),
		cel.CrossTypeNumericComparisons(true),
		cel.ASTValidators(
			cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(2),
		),
	}
	in := reflect.TypeFor[In]()
	for i := range in.NumField() {
		name := in.Field(i).Tag.Get("cel")
		t, object := celType(in.Field(i).Type)
		if t == nil {
			return nil, fmt.Errorf("declare variable %s: type %s has no counterpart", name, in.Field(i).Type)
		}
		if object != nil {
			objects = append(objects, object)
		}
		options = append(options, cel.Variable(inner(name), t))
		described = append(described, name+fieldsOf(object, t))
		e.fields = append(e.fields, variable{name: name, index: i})
	}
	options = append([]cel.EnvOption{structs(objects)}, options...)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	e.cel = env
	e.variables = "the variables are " + strings.Join(described, ", ")
	return e, nil
}

// structs teaches an environment our Go types.
func structs(objects []any) cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		provider, adapter, err := types.ComposeTypes(env.CELTypeProvider(), env.CELTypeAdapter(),
			append(objects, types.ParseStructTags(true))...)
		if err != nil {
			return nil, fmt.Errorf("declare types: %w", err)
		}
		if env, err = cel.CustomTypeAdapter(adapter)(env); err != nil {
			return nil, err
		}
		return cel.CustomTypeProvider(provider)(env)
	}
}

// celType is the declared type of a Go type, and the struct in it.
func celType(t reflect.Type) (*cel.Type, any) {
	switch t.Kind() {
	case reflect.String:
		return cel.StringType, nil
	case reflect.Map:
		return cel.MapType(cel.StringType, cel.StringType), nil
	case reflect.Pointer:
		return cel.ObjectType("expr." + t.Elem().Name()), t.Elem()
	case reflect.Slice:
		return cel.ListType(cel.ObjectType("expr." + t.Elem().Name())), t.Elem()
	default:
		return nil, nil
	}
}

// fieldsOf lists the fields of a variable as people read them: {files, bytes}, in brackets where it is a list.
func fieldsOf(object any, t *cel.Type) string {
	if object == nil {
		return ""
	}
	rt, ok := object.(reflect.Type)
	if !ok {
		return ""
	}
	var names []string
	for field := range rt.Fields() {
		names = append(names, field.Tag.Get("cel"))
	}
	list := "{" + strings.Join(names, ", ") + "}"
	if t.Kind() == types.ListKind {
		list = "[" + list + "]"
	}
	return list
}

// activation gives the variables their values, and says which have none.
func (e *environment) activation(in any) (vars map[string]any, unknown []*cel.AttributePatternType) {
	v := reflect.ValueOf(in)
	vars = make(map[string]any, len(e.fields))
	for _, f := range e.fields {
		field := v.Field(f.index)
		if k := field.Kind(); (k == reflect.Pointer || k == reflect.Slice) && field.IsNil() {
			unknown = append(unknown, cel.AttributePattern(inner(f.name)))
			continue
		}
		vars[inner(f.name)] = field.Interface()
	}
	return vars, unknown
}

// used lists the variables that an expression names.
func (e *environment) used(checked *cel.Ast) []string {
	var names []string
	for _, ref := range checked.NativeRep().ReferenceMap() {
		name := outer(ref.Name)
		if slices.ContainsFunc(e.fields, func(f variable) bool { return f.name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var (
	operator  = regexp.MustCompile(`'_?([^\w'\s]+|in|\?_:)_?'`)
	container = regexp.MustCompile(` \(in container '[^']*'\)`)
)

// plain takes the engine's own notation out of a message.
func plain(text string) string {
	text = container.ReplaceAllString(text, "")
	text = operator.ReplaceAllString(text, "'$1'")
	text = strings.ReplaceAll(text, renamed, reserved)
	return strings.ReplaceAll(text, "expr.", "")
}

// explain names the place of the first mistake, what it is, and the variables there are.
func (e *environment) explain(text string, issues *cel.Issues) error {
	errs := issues.Errors()
	if len(errs) == 0 {
		return fmt.Errorf("expression: %s", plain(issues.Err().Error()))
	}
	first := errs[0]
	line, column := first.Location.Line(), first.Location.Column()
	lines := strings.Split(text, "\n")
	place := ""
	if line >= 1 && line <= len(lines) && column >= 0 {
		place = fmt.Sprintf("column %d: ", column+1)
		if len(lines) > 1 {
			place = fmt.Sprintf("line %d, %s", line, place)
		}
		if rest := []rune(lines[line-1]); column < len(rest) {
			excerpt := rest[column:min(len(rest), column+20)]
			place = fmt.Sprintf("%s, at %q: ", strings.TrimSuffix(place, ": "), string(excerpt))
		}
	}
	return fmt.Errorf("expression, %s%s; %s", place, mistake(first.Message), e.variables)
}

// mistake is a message in plain words: the parser lists every token that it could have taken.
func mistake(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	message, _, cut := strings.Cut(strings.TrimPrefix(message, "Syntax error: "), " expecting ")
	if cut && strings.Contains(message, "<EOF>") {
		return "it ends too early"
	}
	return plain(message)
}
