package code

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// scanner lists forbidden code. It checks the globals and properties that the program really uses; strings, comments and local
// variables may have any name.
type scanner struct {
	globals, properties, ofDocument map[string]string
	faults                          Faults
}

// Enter checks a node. It descends unless it has already checked the parts.
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
			return nil // tests for existence only
		}
	case *js.BinaryExpr:
		return s.comparison(n)
	default:
		s.leaf(node)
	}
	return s
}

// Exit implements [js.IVisitor].
func (s *scanner) Exit(js.INode) {}

// leaf checks nodes whose parts are always visited.
func (s *scanner) leaf(node js.INode) {
	switch n := node.(type) {
	case *js.CallExpr:
		s.call(n, n.X, n.Args.List)
	case *js.NewExpr:
		var args []js.Arg
		if n.Args != nil {
			args = n.Args.List
		}
		s.call(n, n.X, args)
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

// unknown stands for a property name that is known only at run time.
const unknown = "[…]"

// member checks x.name and x[computed].
func (s *scanner) member(expression js.INode, x js.IExpr, name string, computed js.IExpr) js.IVisitor {
	window, document := s.isWindow(x), s.isDocument(x)
	if s.properties[name] != "" {
		s.refuse(expression, name, s.properties[name])
	}
	if name == constructor && propertyOf(x) == constructor {
		s.refuse(expression, "constructor.constructor", noCode)
	}
	switch {
	case name == unknown && (window || document):
		s.refuse(expression, "a computed property of window or document", noHiding)
	case window && s.globals[name] != "":
		s.refuse(expression, name, s.globals[name])
	case document && s.ofDocument[name] != "":
		s.refuse(expression, name+" of document", s.ofDocument[name])
	}
	if !window {
		return s
	}
	js.Walk(s, computed)
	s.unlessName(x)
	return nil
}

// isName reports whether an expression is just a name, in brackets or not.
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

// unlessName visits an expression unless it is just a name, which is harmless here.
func (s *scanner) unlessName(x js.IExpr) {
	if !isName(x) {
		js.Walk(s, x)
	}
}

const constructor = "constructor"

func (s *scanner) call(expression js.INode, callee js.IExpr, args []js.Arg) {
	name := propertyOf(callee)
	if v, ok := bare(callee).(*js.Var); ok {
		name = string(v.Name())
	} else if name == constructor {
		s.refuse(expression, "a call of constructor", noCode)
	}
	switch name {
	case "setTimeout", "setInterval", "setImmediate":
		if len(args) > 0 && isText(args[0].Value) {
			s.refuse(expression, name+" with text", noCode)
		}
	case "createElement", "createElementNS", "createFactory":
		for _, arg := range args[:min(2, len(args))] {
			if tag, ok := constant(arg.Value); ok && slices.Contains([]string{"script", "iframe", "frame", "object", "embed"}, strings.ToLower(tag)) {
				s.refuse(expression, "the element "+tag, noHTML)
			}
		}
	}
}

func (s *scanner) key(expression js.INode, name *js.PropertyName) {
	if name == nil {
		return
	}
	key := literal(&name.Literal)
	if name.IsComputed() {
		key, _ = constant(name.Computed)
	}
	if reason := s.properties[key]; reason != "" {
		s.refuse(expression, key, reason)
	}
}

// binding accepts `const {innerWidth} = window` and checks the names.
func (s *scanner) binding(n *js.BindingElement) js.IVisitor {
	object, ok := n.Binding.(*js.BindingObject)
	if !ok {
		return s
	}
	window, document := s.isWindow(n.Default), s.isDocument(n.Default)
	for _, item := range object.List {
		s.key(n, item.Key)
		switch name := propertyOfItem(item); {
		case window && (name == unknown || isWindow(name) || s.globals[name] != ""):
			s.refuse(n, name+" of window", cmp.Or(s.globals[name], noHiding))
		case document && (name == unknown || s.ofDocument[name] != ""):
			s.refuse(n, name+" of document", cmp.Or(s.ofDocument[name], noHiding))
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

// propertyOfItem returns the name of the property that an item of a pattern reads.
func propertyOfItem(item js.BindingObjectItem) string {
	if item.Key != nil && !item.Key.IsComputed() {
		return literal(&item.Key.Literal)
	}
	if v, ok := item.Value.Binding.(*js.Var); ok && item.Key == nil {
		return string(v.Data)
	}
	return unknown
}

// comparison accepts `event.target === window`.
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

// isWindow reports whether an expression is the global object, under any of its names.
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

// refuse records a fault once, with the code that it concerns.
func (s *scanner) refuse(about js.INode, what, why string) {
	text := fmt.Sprintf("%s is not allowed: %s", what, why)
	if about != nil {
		const limit = 60
		var code strings.Builder
		about.JS(&code)
		quoted := code.String()
		if runes := []rune(quoted); len(runes) > limit {
			quoted = string(runes[:limit]) + "…"
		}
		text += " (" + strconv.Quote(quoted) + ")"
	}
	f := Fault{Text: text}
	if len(s.faults) < maxFaults && !slices.Contains(s.faults, f) {
		s.faults = append(s.faults, f)
	}
}

// Reasons for refusals. The model that repairs the code reads them.
const (
	noCode    = "text must not be run as code"
	noModules = "there are no modules: React is a global, and App needs no export"
	noEscape  = "the frame has no way to the page around it"
	noNetwork = "the only way to the network is fetch"
	noStore   = "the frame has no storage; keep state in React"
	noHTML    = "create elements with React, not from HTML text"
	noWorker  = "the frame has no workers"
	noHiding  = "use the name directly"
)

// refusedGlobals returns the names refused as globals and as properties of window.
func refusedGlobals() map[string]string {
	return map[string]string{
		"eval": noCode, "Function": noCode, "execScript": noCode,
		"require": noModules, "importScripts": noModules, "module": noModules, "exports": noModules,
		"parent": noEscape, "top": noEscape, "opener": noEscape, "frames": noEscape, "frameElement": noEscape, "postMessage": noEscape, "BroadcastChannel": noEscape,
		"XMLHttpRequest": noNetwork, "WebSocket": noNetwork, "EventSource": noNetwork, "WebTransport": noNetwork, "RTCPeerConnection": noNetwork,
		"localStorage": noStore, "sessionStorage": noStore, "indexedDB": noStore, "caches": noStore, "cookieStore": noStore,
		"Worker": noWorker, "SharedWorker": noWorker,
	}
}

// refusedProperties returns the names refused as properties of any object, because nothing else uses them.
func refusedProperties() map[string]string {
	return map[string]string{
		"innerHTML": noHTML, "outerHTML": noHTML, "insertAdjacentHTML": noHTML, "dangerouslySetInnerHTML": noHTML, "srcdoc": noHTML, "srcDoc": noHTML,
		"createContextualFragment": noHTML, "sendBeacon": noNetwork, "serviceWorker": noWorker, "contentWindow": noEscape, "contentDocument": noEscape,
	}
}

// refusedOfDocument returns the names refused as properties of document only: an order may have a cookie.
func refusedOfDocument() map[string]string {
	return map[string]string{"cookie": noStore, "write": noHTML, "writeln": noHTML}
}

func isWindow(name string) bool { return name == "window" || name == "self" || name == "globalThis" }
