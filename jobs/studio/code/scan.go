package code

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// scan lists what is refused. It looks at the names that the program really uses, so strings, comments, local variables and
// properties may have any name.
func scan(program *js.AST) Faults {
	s := &scanner{globals: refusedGlobals(), properties: refusedProperties(), ofDocument: refusedOfDocument()}
	js.Walk(s, program)
	return s.faults
}

type scanner struct {
	globals, properties, ofDocument map[string]string
	faults                          Faults
}

// Enter judges a node; it goes on into its parts unless it has judged these as well.
func (s *scanner) Enter(node js.INode) js.IVisitor {
	switch n := node.(type) {
	case *js.Var:
		s.variable(n)
	case *js.DotExpr:
		return s.member(n, n.X, literal(n.Y), n.Y)
	case *js.IndexExpr:
		name, known := constant(n.Y)
		if !known {
			name = unknown
		}
		return s.member(n, n.X, name, n.Y)
	case *js.BindingElement:
		return s.binding(n)
	case *js.UnaryExpr:
		if isName(n.X) && n.Op == js.TypeofToken {
			return nil // asks whether there is such a thing, and has it not
		}
	case *js.BinaryExpr:
		return s.comparison(n)
	default:
		s.leaf(node)
	}
	return s
}

// Exit is there for the walk.
func (s *scanner) Exit(js.INode) {}

// leaf judges what is gone on into in any case.
func (s *scanner) leaf(node js.INode) {
	switch n := node.(type) {
	case *js.CallExpr:
		s.call(n, n.X, n.Args.List)
	case *js.NewExpr:
		var args js.Args
		if n.Args != nil {
			args = *n.Args
		}
		s.call(n, n.X, args.List)
	case *js.Property:
		s.key(n, n.Name)
	case *js.ImportStmt, *js.ExportStmt, *js.ImportMetaExpr:
		s.refuse(node, "import and export", noModules)
	case *js.LiteralExpr:
		if n.TokenType == js.ImportToken {
			s.refuse(nil, "import()", noModules)
		}
	case *js.WithStmt:
		s.refuse(nil, "with", noHiding)
	}
}

func (s *scanner) variable(v *js.Var) {
	name, global := globalName(v)
	switch reason := s.globals[name]; {
	case !global:
	case reason != "":
		s.refuse(nil, name, reason)
	case isWindow(name):
		s.refuse(nil, name+" as a value", noHiding)
	}
}

// unknown is the name of a property that is only known when the program runs.
const unknown = "[…]"

// member judges x.name and x[computed].
func (s *scanner) member(whole js.INode, x js.IExpr, name string, computed js.IExpr) js.IVisitor {
	window, document := s.isWindow(x), s.isDocument(x)
	s.property(whole, x, name)
	switch {
	case name == unknown && (window || document):
		s.refuse(whole, "a property of window or document that is computed", noHiding)
	case window && s.globals[name] != "":
		s.refuse(whole, name, s.globals[name])
	case document && s.ofDocument[name] != "":
		s.refuse(whole, name+" of document", s.ofDocument[name])
	}
	if !window {
		return s
	}
	js.Walk(s, computed)
	s.unlessName(x)
	return nil
}

// isName says whether an expression is nothing but a name, in brackets or not.
func isName(x js.IExpr) bool {
	for {
		group, ok := x.(*js.GroupExpr)
		if !ok {
			_, name := x.(*js.Var)
			return name
		}
		x = group.X
	}
}

// unlessName goes on into an expression of which only a mere name is known to be harmless here.
func (s *scanner) unlessName(x js.IExpr) {
	if !isName(x) {
		js.Walk(s, x)
	}
}

func (s *scanner) property(whole js.INode, x js.IExpr, name string) {
	if s.properties[name] != "" {
		s.refuse(whole, name, s.properties[name])
	}
	if name == constructor && propertyOf(x) == constructor {
		s.refuse(whole, "constructor.constructor", noCode)
	}
}

const constructor = "constructor"

func (s *scanner) call(whole js.INode, callee js.IExpr, args []js.Arg) {
	name := propertyOf(callee)
	if v, ok := bare(callee).(*js.Var); ok {
		name = string(v.Name())
	} else if name == constructor {
		s.refuse(whole, "a call of constructor", noCode)
	}
	switch name {
	case "setTimeout", "setInterval", "setImmediate":
		if len(args) > 0 && isText(args[0].Value) {
			s.refuse(whole, name+" with text", noCode)
		}
	case "createElement", "createElementNS", "createFactory":
		for _, arg := range args[:min(2, len(args))] {
			if tag, ok := constant(arg.Value); ok && isForeignElement(strings.ToLower(tag)) {
				s.refuse(whole, "the element "+tag, noHTML)
			}
		}
	}
}

func (s *scanner) key(whole js.INode, name *js.PropertyName) {
	if name == nil {
		return
	}
	key := literal(&name.Literal)
	if name.IsComputed() {
		key, _ = constant(name.Computed)
	}
	if reason := s.properties[key]; reason != "" {
		s.refuse(whole, key, reason)
	}
}

// binding lets `const {innerWidth} = window` pass, and judges the names.
func (s *scanner) binding(n *js.BindingElement) js.IVisitor {
	object, ok := n.Binding.(*js.BindingObject)
	if !ok {
		return s
	}
	window, document := s.isWindow(n.Default), s.isDocument(n.Default)
	for _, item := range object.List {
		s.key(n, item.Key)
		switch name := taken(item); {
		case window && (name == unknown || isWindow(name) || s.globals[name] != ""):
			s.refuse(n, name+" of window", reasonOr(s.globals[name], noHiding))
		case document && (name == unknown || s.ofDocument[name] != ""):
			s.refuse(n, name+" of document", reasonOr(s.ofDocument[name], noHiding))
		}
	}
	if !window {
		return s
	}
	if object.Rest != nil {
		s.refuse(n, "window as a value", noHiding)
	}
	js.Walk(s, object)
	s.unlessName(n.Default)
	return nil
}

// taken is the name of the property that a part of a pattern takes.
func taken(item js.BindingObjectItem) string {
	if item.Key != nil && !item.Key.IsComputed() {
		return literal(&item.Key.Literal)
	}
	if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
		return string(v.Data)
	}
	return unknown
}

func reasonOr(reason, other string) string {
	if reason == "" {
		return other
	}
	return reason
}

// comparison lets `event.target === window` pass.
func (s *scanner) comparison(n *js.BinaryExpr) js.IVisitor {
	if !slices.Contains([]js.TokenType{js.EqEqToken, js.EqEqEqToken, js.NotEqToken, js.NotEqEqToken}, n.Op) {
		return s
	}
	for _, side := range []js.IExpr{n.X, n.Y} {
		if !isName(side) || !s.isWindow(side) {
			js.Walk(s, side)
		}
	}
	return nil
}

// isWindow tells whether an expression is the global object, by one of its names.
func (s *scanner) isWindow(x js.IExpr) bool {
	x = bare(x)
	if v, ok := x.(*js.Var); ok {
		name, global := globalName(v)
		return global && isWindow(name)
	}
	name := propertyOf(x)
	return isWindow(name) && s.isWindow(objectOf(x)) || name == "defaultView" && s.isDocument(objectOf(x))
}

func (s *scanner) isDocument(x js.IExpr) bool {
	x = bare(x)
	if v, ok := x.(*js.Var); ok {
		name, global := globalName(v)
		return global && name == "document"
	}
	name := propertyOf(x)
	return name == "ownerDocument" || name == "document" && s.isWindow(objectOf(x))
}

// refuse notes a fault once, with the code that it is about if that says more.
func (s *scanner) refuse(about js.INode, what, why string) {
	text := fmt.Sprintf("%s is not allowed: %s", what, why)
	if about != nil {
		var code strings.Builder
		about.JS(&code)
		text += " (" + quote(code.String()) + ")"
	}
	f := Fault{Text: text}
	if len(s.faults) < maxFaults && !slices.Contains(s.faults, f) {
		s.faults = append(s.faults, f)
	}
}

func quote(code string) string {
	const most = 60
	if runes := []rune(code); len(runes) > most {
		code = string(runes[:most]) + "…"
	}
	return strconv.Quote(code)
}
