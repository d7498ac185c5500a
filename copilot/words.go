package copilot

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a shell command, without its quotes.
type word struct {
	text  string
	vague bool // the shell makes something of it that does not stand here
}

// maxNesting bounds what the parser may have to go down into: a level costs it
// 4 KiB of stack.
const maxNesting = 1000

// shellCommands parts a command line into commands of at least one word,
// assignments before them included. Opaque says that they are not all that may
// run.
func shellCommands(line string) (commands [][]word, opaque bool) {
	if strings.Count(line, "(")+strings.Count(line, "{") > maxNesting {
		return rough(line), true
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return rough(line), true
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			if words := callWords(n); len(words) > 0 {
				commands = append(commands, words)
			}
		case *syntax.DeclClause: // export, declare
			commands = append(commands, []word{{text: n.Variant.Value}})
		case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
			commands = append(commands, []word{{text: "[["}})
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FuncDecl, *syntax.CoprocClause:
			opaque = true
		}
		return true
	})
	return commands, opaque
}

// rough parts what is no shell command, such as code of another language that
// may contain some.
func rough(line string) (commands [][]word) {
	for piece := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";&|()`\n", r) }) {
		var words []word
		for field := range strings.FieldsSeq(piece) {
			words = append(words, word{text: strings.Trim(field, `'"`)})
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

func callWords(call *syntax.CallExpr) []word {
	var words []word
	for _, a := range call.Assigns {
		value := word{}
		if a.Value != nil {
			value = plain(a.Value.Parts, anything)
		}
		if a.Name != nil {
			words = append(words, word{text: a.Name.Value + "=" + value.text})
		}
	}
	for _, w := range call.Args {
		words = append(words, plain(w.Parts, anything))
	}
	return words
}

// What a backslash takes its meaning from: anything, or within double quotes
// only these.
const (
	anything = ""
	inQuotes = "\\\"$`\n"
)

// plain is the text of a word as far as it stands there.
func plain(parts []syntax.WordPart, escapable string) word {
	var text strings.Builder
	vague := false
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text.WriteString(unescape(p.Value, escapable))
			vague = vague || escapable == anything && strings.ContainsAny(p.Value, "*?[{")
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
			vague = vague || p.Dollar // with escapes that are not read here
		case *syntax.DblQuoted:
			inner := plain(p.Parts, inQuotes)
			text.WriteString(inner.text)
			vague = vague || inner.vague
		default:
			text.WriteString("$")
			vague = true
		}
	}
	return word{text: text.String(), vague: vague}
}

// unescape takes away the backslashes before escapable bytes.
func unescape(s, escapable string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (escapable == anything || strings.IndexByte(escapable, s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
