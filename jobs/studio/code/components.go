package code

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2/js"
)

const app = "App"

// components lists the components of a program: functions, classes and constants with capital names that make elements, or
// that elements are made of. App is one if the top level declares it.
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

// finder walks through a program. Each declaration that may be a component is open until it is left.
type finder struct {
	found []*candidate
	open  []*candidate
	used  map[string]bool
}

type candidate struct {
	node  js.INode
	name  string
	makes bool // elements
}

// Enter opens declarations, and notes which elements are made.
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

// callable tells whether a value may be a component: a function, a class, or what React.memo and its like make of one.
func callable(x js.IExpr) bool {
	switch n := bare(x).(type) {
	case *js.ArrowFunc, *js.FuncDecl, *js.ClassDecl:
		return true
	case *js.CallExpr:
		return slices.ContainsFunc(n.Args.List, func(a js.Arg) bool { return callable(a.Value) })
	}
	return false
}
