package permission

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNesting bounds the recursion of the parser: each level costs it 4 KiB of stack.
const maxNesting = 1000

var (
	errNested  = errors.New("it is nested too deeply")
	errMisread = errors.New("bash may read it in another way than this parser")
)

// parse parses a text as bash. If it has a character or a construct that bash reads in another way, the error is errMisread; then the tree
// is only a guess.
func parse(text string) (*syntax.File, error) {
	if strings.Count(text, "(")+strings.Count(text, "{") > maxNesting {
		return nil, errNested
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(text, "\r\x00") { // which the parser skips like blanks
		return file, errMisread
	}
	var substituted uint // offset of the end of the command substitutions so far
	for node := range syntax.Preorder(file) {
		if s, ok := node.(*syntax.CmdSubst); ok {
			substituted = max(substituted, s.End().Offset())
		}
		if isMisread(text, node, node.Pos().Offset() < substituted) {
			return file, errMisread
		}
	}
	return file, nil
}

// isMisread reports whether bash may read a node, or what follows it, in another way than the parser did. substituted says that the node is
// part of a command substitution.
func isMisread(text string, node syntax.Node, substituted bool) bool {
	switch n := node.(type) {
	case *syntax.Comment:
		return strings.HasSuffix(n.Text, "\\\n") || !beginsComment(text[:n.Hash.Offset()])
	case *syntax.DblQuoted:
		return quotesInside(n.Parts)
	case *syntax.ExtGlob: // which the parser does not look into
		return strings.ContainsAny(n.Pattern.Value, "$`<>'\"\\ \t\n;&")
	case *syntax.CmdSubst: // which has other backslashes in a here-document
		return n.Backquotes && strings.Contains(text[n.Left.Offset():n.Right.Offset()], "<<")
	case *syntax.Redirect:
		isDocument := n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc
		return isDocument && !endsAtDelimiter(text, n, substituted)
	}
	return false
}

// beginsComment reports whether a # after a text begins a comment, and not the rest of a word.
func beginsComment(before string) bool {
	word := strings.TrimRight(before, " \t\n;&|(")
	return before == "" || len(word) < len(before) && (word == "" || word[len(word)-1] != '\\')
}

// quotesInside reports whether an expansion within double quotes has single quotes that are none: in ${x:-'$(y)'}, bash takes them for text and
// runs y. In a pattern, such as ${x%'$(y)'}, they quote.
func quotesInside(parts []syntax.WordPart) (found bool) {
	for _, part := range parts {
		expansion, ok := part.(*syntax.ParamExp)
		if !ok {
			continue
		}
		patterns := patternsOf(expansion)
		syntax.Walk(expansion, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.SglQuoted:
				found = true
			case *syntax.DblQuoted, *syntax.CmdSubst, *syntax.ProcSubst:
				return false
			case *syntax.Word:
				return !slices.Contains(patterns, n)
			}
			return true
		})
	}
	return found
}

// patternsOf returns the patterns of an expansion, and what replaces them.
func patternsOf(n *syntax.ParamExp) []*syntax.Word {
	removes := []syntax.ParExpOperator{syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix}
	switch {
	case n.Repl != nil:
		return []*syntax.Word{n.Repl.Orig, n.Repl.With}
	case n.Exp != nil && slices.Contains(removes, n.Exp.Op):
		return []*syntax.Word{n.Exp.Word}
	}
	return nil
}

// endsAtDelimiter reports whether bash ends a here-document where the parser does. The delimiter is a simple word, bare or quoted as a whole.
func endsAtDelimiter(text string, r *syntax.Redirect, substituted bool) bool {
	delimiter, shown := plain(r.Word.Parts, anything).text, text[r.Word.Pos().Offset():r.Word.End().Offset()]
	isQuoted := slices.Contains([]string{"'" + delimiter + "'", `"` + delimiter + `"`, `\` + delimiter}, shown)
	switch {
	case !isIdentifier(delimiter), !isQuoted && shown != delimiter:
		return false
	case r.Hdoc == nil: // it is empty
		return true
	case !isQuoted && quotesInside(r.Hdoc.Parts):
		return false
	}
	document := text[r.Hdoc.Pos().Offset():r.Hdoc.End().Offset()]
	if !isQuoted { // then a backslash joins lines
		document = unescape(document, "\\\n")
	}
	lines := strings.Split(document, "\n")
	ends := slices.IndexFunc(lines, func(line string) bool {
		if r.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		rest, begins := strings.CutPrefix(line, delimiter)
		return begins && (rest == "" || substituted && strings.Contains(rest, ")")) // a ) ends it within $(…)
	})
	return ends == len(lines)-1
}
