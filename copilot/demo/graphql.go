package demo

import (
	"fmt"
	"strings"
)

// readField reads a line such as `query films(first: Int = 20): [Film!]! // What it is`.
func (a *api) readField(line string) {
	line, title, _ := strings.Cut(line, " // ")
	line, deprecated := strings.CutSuffix(line, " (deprecated)")
	kind, rest, _ := strings.Cut(line, " ")
	head, returns, ok := cutTop(rest)
	if !ok {
		return
	}
	name, args, _ := strings.Cut(head, "(")
	o := operation{Method: kind, Path: name, Title: title, Group: groupOf(kind), Deprecated: deprecated, Params: []param{}}
	if o.Title == "" {
		o.Title = name
	}
	for _, arg := range splitTop(strings.TrimSuffix(args, ")")) {
		if name, kind, ok := cutTop(arg); ok {
			kind, _, _ = strings.Cut(kind, " = ")
			o.Params = append(o.Params, param{name, "arg", strings.HasSuffix(kind, "!"), kind, a.enumeration(kind)})
		}
	}
	o.Document = a.document(o, returns)
	a.Operations = append(a.Operations, o)
}

func groupOf(kind string) string {
	return map[string]string{"query": "Queries", "mutation": "Mutations", "subscription": "Subscriptions"}[kind]
}

// base is a type without its brackets and marks.
func base(kind string) string { return strings.Trim(strings.TrimSpace(kind), "[]!") }

// enumeration are the values that an argument can have, if it is one of some.
func (a *api) enumeration(kind string) []string {
	values, ok := strings.CutPrefix(a.models[base(kind)], "enum ")
	if !ok {
		return nil
	}
	return strings.Split(values, "|")
}

// document is what is sent to call a field.
func (a *api) document(o operation, returns string) string {
	var variables, args []string
	for _, p := range o.Params {
		variables = append(variables, fmt.Sprintf("$%s: %s", p.Name, p.Type))
		args = append(args, fmt.Sprintf("%s: $%s", p.Name, p.Name))
	}
	text := o.Method
	if len(args) > 0 {
		text += "(" + strings.Join(variables, ", ") + ")"
		return text + " { " + o.Path + "(" + strings.Join(args, ", ") + ")" + a.selection(returns, 0) + " }"
	}
	return text + " { " + o.Path + a.selection(returns, 0) + " }"
}

// selection are the fields of a type that need no arguments; "" for one that has none.
func (a *api) selection(kind string, depth int) string {
	shape := a.models[base(kind)]
	if !strings.Contains(shape, "{") {
		if strings.Contains(shape, " | ") {
			return " { __typename }" // one of several types
		}
		return ""
	}
	var fields []string
	for _, m := range members(shape) {
		name, args, _ := strings.Cut(strings.TrimSuffix(m[0], "!"), "(")
		kind, _, _ := strings.Cut(m[1], " ")
		if !strings.Contains(args, "!") && (depth == 0 || !a.isObject(kind)) {
			fields = append(fields, name+a.selection(kind, depth+1))
		}
	}
	if len(fields) == 0 {
		fields = []string{"__typename"}
	}
	return " { " + strings.Join(fields, " ") + " }"
}

// isObject says whether a type has fields, or stands for several that have.
func (a *api) isObject(kind string) bool {
	return strings.ContainsAny(a.models[base(kind)], "{|") && a.enumeration(kind) == nil
}
