package code

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2/js"
)

const app = "App"

// components lists the components of a program: functions, classes and constants with capitalized names that create elements
// or are used as elements. App is one if the top level declares it.
func components(program *js.AST) []string {
	f := &finder{used: map[string]bool{}}
	js.Walk(f, program)
	var names []string
	for _, c := range f.found {
		if (c.makes || f.used[c.name]) && c.name != app && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	for _, v := range program.Declared {
		if string(v.Data) == app {
			return append(names, app)
		}
	}
	return names
}

// finder walks a program. A declaration that may be a component is open until the walk leaves it.
type finder struct {
	found []*candidate
	open  []*candidate
	used  map[string]bool
}

type candidate struct {
	node  js.INode
	name  string
	makes bool // creates elements
}

// Enter opens declarations and records which elements are created.
func (f *finder) Enter(node js.INode) js.IVisitor {
	switch n := node.(type) {
	case *js.FuncDecl:
		f.declare(n, n.Name)
	case *js.ClassDecl:
		f.declare(n, n.Name)
	case *js.BindingElement:
		if v, ok := n.Binding.(*js.Var); ok && callable(n.Default) {
			f.declare(n, v)
		}
	case *js.CallExpr:
		f.element(n)
	}
	return f
}

// Exit closes what Enter opened.
func (f *finder) Exit(node js.INode) {
	if last := len(f.open) - 1; last >= 0 && f.open[last].node == node {
		f.open = f.open[:last]
	}
}

func (f *finder) declare(node js.INode, name *js.Var) {
	if name == nil {
		return
	}
	if first, _ := utf8.DecodeRune(name.Data); !unicode.IsUpper(first) {
		return
	}
	c := &candidate{node: node, name: string(name.Data)}
	f.found, f.open = append(f.found, c), append(f.open, c)
}

func (f *finder) element(call *js.CallExpr) {
	if propertyOf(call.X) != "createElement" {
		return
	}
	if len(f.open) > 0 {
		f.open[len(f.open)-1].makes = true
	}
	if len(call.Args.List) > 0 {
		if v, ok := bare(call.Args.List[0].Value).(*js.Var); ok {
			f.used[string(v.Name())] = true
		}
	}
}

// callable reports whether a value may be a component: a function, a class, or one of these in React.memo and the like.
func callable(x js.IExpr) bool {
	switch n := bare(x).(type) {
	case *js.ArrowFunc, *js.FuncDecl, *js.ClassDecl:
		return true
	case *js.CallExpr:
		return slices.ContainsFunc(n.Args.List, func(a js.Arg) bool { return callable(a.Value) })
	}
	return false
}

// bare strips brackets, and all but the last part of a comma expression: (0, eval) is eval.
func bare(x js.IExpr) js.IExpr {
	for {
		switch n := x.(type) {
		case *js.GroupExpr:
			x = n.X
		case *js.CommaExpr:
			if len(n.List) == 0 {
				return x
			}
			x = n.List[len(n.List)-1]
		default:
			return x
		}
	}
}

// globalName returns the name of a variable, and whether nothing in the program declares it.
func globalName(v *js.Var) (string, bool) {
	for v.Link != nil {
		v = v.Link
	}
	return string(v.Data), v.Decl == js.NoDecl
}

// propertyOf returns the name of the property that an expression reads, "" if unknown.
func propertyOf(x js.IExpr) string {
	switch n := bare(x).(type) {
	case *js.DotExpr:
		return literal(n.Y)
	case *js.IndexExpr:
		name, _ := constant(n.Y)
		return name
	}
	return ""
}

func objectOf(x js.IExpr) js.IExpr {
	switch n := bare(x).(type) {
	case *js.DotExpr:
		return n.X
	case *js.IndexExpr:
		return n.X
	}
	return nil
}

// literal returns the name after a dot or before a colon.
func literal(x js.IExpr) string {
	var l js.LiteralExpr
	switch n := x.(type) {
	case *js.LiteralExpr:
		l = *n
	case js.LiteralExpr: // after a dot
		l = n
	}
	if l.TokenType == js.StringToken {
		return unquote(l.Data)
	}
	return string(l.Data)
}

func unquote(data []byte) string {
	if len(data) < 2 {
		return ""
	}
	return string(data[1 : len(data)-1])
}

// constant returns the value of an expression that is a constant text. The printed code has only the escapes that it
// needs.
func constant(x js.IExpr) (string, bool) {
	switch n := bare(x).(type) {
	case *js.LiteralExpr:
		if n.TokenType == js.StringToken {
			return unquote(n.Data), true
		}
		return string(n.Data), n.TokenType == js.DecimalToken || n.TokenType == js.IntegerToken
	case *js.BinaryExpr:
		if n.Op == js.AddToken {
			left, ok := constant(n.X)
			right, also := constant(n.Y)
			return left + right, ok && also
		}
	case *js.TemplateExpr:
		return template(n)
	}
	return "", false
}

func template(n *js.TemplateExpr) (string, bool) {
	if n.Tag != nil {
		return "", false
	}
	var text strings.Builder
	for _, part := range n.List {
		value, ok := constant(part.Expr)
		if !ok {
			return "", false
		}
		text.WriteString(strings.TrimSuffix(strings.TrimLeft(string(part.Value), "`}"), "${") + value)
	}
	return text.String() + strings.Trim(string(n.Tail), "`}"), true
}

// isText reports whether an expression is text, constant or not.
func isText(x js.IExpr) bool {
	switch n := bare(x).(type) {
	case *js.LiteralExpr:
		return n.TokenType == js.StringToken
	case *js.TemplateExpr:
		return n.Tag == nil
	case *js.BinaryExpr:
		return n.Op == js.AddToken && (isText(n.X) || isText(n.Y))
	}
	return false
}
