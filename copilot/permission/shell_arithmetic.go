package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// evaluates reports whether bash computes a part of a node as arithmetic or looks up a variable by a computed name, and that part is not
// certainly a number or a name. Both run the commands in an index, as in a[$(x)], also one that is the value of a variable.
func evaluates(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.UnaryTest:
		return (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) && !isName(n.X)
	case *syntax.ParamExp:
		isList := n.Names != 0 || isAll(n.Index) && n.Exp == nil && n.Slice == nil && n.Repl == nil // of names or of keys
		if n.Excl && !isList {
			return true
		}
	}
	return slices.ContainsFunc(computed(node), func(part syntax.Node) bool { return !isNumber(part) })
}

// computed returns the parts of a node that bash computes as arithmetic. Those left out are nil.
func computed(node syntax.Node) (parts []syntax.Node) {
	switch n := node.(type) {
	case *syntax.ArithmExp:
		return []syntax.Node{n.X}
	case *syntax.ArithmCmd:
		return []syntax.Node{n.X}
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			parts = append(parts, x)
		}
	case *syntax.CStyleLoop:
		return []syntax.Node{n.Init, n.Cond, n.Post}
	case *syntax.Assign:
		return []syntax.Node{n.Index}
	case *syntax.ArrayElem:
		return []syntax.Node{n.Index}
	case *syntax.ParamExp:
		return subscripts(n)
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			return []syntax.Node{n.X, n.Y}
		}
	}
	return parts
}

// subscripts returns the index and the bounds of an expansion: ${a[i]}, ${a:x:y}.
func subscripts(e *syntax.ParamExp) (parts []syntax.Node) {
	if !isAll(e.Index) {
		parts = append(parts, e.Index)
	}
	if e.Slice != nil {
		parts = append(parts, e.Slice.Offset, e.Slice.Length)
	}
	return parts
}

// isNumber reports whether an expression consists only of numbers, or is left out.
func isNumber(expression syntax.Node) bool {
	switch x := expression.(type) {
	case nil:
		return true
	case *syntax.Word:
		return isDigits(x.Lit()) || len(x.Parts) == 1 && isCount(x.Parts[0])
	case *syntax.ParenArithm:
		return isNumber(x.X)
	case *syntax.UnaryArithm:
		return isNumber(x.X)
	case *syntax.BinaryArithm:
		return isNumber(x.X) && isNumber(x.Y)
	}
	return false
}

// isDigits reports whether arithmetic reads a text as a number: 7, 0x1f, 2#101.
func isDigits(text string) bool {
	return text != "" && text[0] >= '0' && text[0] <= '9' && isIdentifier(strings.ReplaceAll(text, "#", ""))
}

// isCount reports whether an expansion is always a number: ${#x}, $?, $#, $$, $!.
func isCount(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && isCount(p.Parts[0])
	case *syntax.ParamExp:
		plain := p.Slice == nil && p.Repl == nil && p.Exp == nil
		return plain && (p.Length || p.Param != nil && strings.Contains("?#$!", p.Param.Value))
	}
	return false
}

// isAll reports whether an index is all elements of an array.
func isAll(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

func isName(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && isIdentifier(w.Lit())
}
