package code

import (
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// bare takes the brackets off an expression, and what a comma leaves behind: (0, eval) is eval.
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

// globalName tells the name of a variable, and whether nothing in the program declares it.
func globalName(v *js.Var) (string, bool) {
	for v.Link != nil {
		v = v.Link
	}
	return string(v.Data), v.Decl == js.NoDecl
}

// propertyOf is the name of the property that an expression takes of an object, if it is known.
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

// literal is the name that stands after a dot or before a colon. Private names are nobody else's.
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

// constant is the value of an expression that is a text already now. What is escaped in it does not matter: the code was
// written anew, with no more escapes than it needs.
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

// isText tells whether an expression is text, whatever it says.
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
