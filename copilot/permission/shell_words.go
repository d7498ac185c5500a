package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// script is what a shell would run, as far as can be known without running it.
type script struct {
	commands  []command
	redirects []redirect // of compound commands
	guesses   []command  // that may be in it, if it is not certain how bash reads it
	opaque    bool       // other commands may run, too
}

// command is a simple command: assignments, words, redirections.
type command struct {
	assigns   []assign
	words     []word
	redirects []redirect
	repeats   bool // it is part of a loop
	connects  bool // the shell may open a connection for it instead of a file
}

// assign is an assignment, before a command or on its own.
type assign struct {
	name  string
	value word
	shown string // as written
}

// redirect is a redirection of input or output to or from a file.
type redirect struct {
	target word
	writes bool
}

// word is a word of a command.
type word struct {
	text  string // without quotes
	shown string // with the necessary quotes, or as written if it is vague
	vague bool   // the shell expands it to something unknown
	loose bool   // it may expand to several words, or none
	tilde bool   // it starts with a home directory, such as "~/x"
	pipe  bool   // it is a pipe to or from another command, such as ">(cat)"
}

// parseScript parses a script as bash.
func parseScript(line string) script {
	p := parsing{line: line}
	file, err := parse(line)
	if file != nil {
		syntax.Walk(file, p.visit)
	}
	if err != nil {
		p.opaque, p.guesses = true, guess(line)
	}
	return p.script
}

// guess splits text that is not certain to be read as shell, such as code of another language that may contain commands.
func guess(line string) (commands []command) {
	for piece := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";&|()`\n", r) }) {
		var words []word
		for field := range strings.FieldsSeq(piece) {
			words = append(words, literal(strings.Trim(field, `'"`)))
		}
		if words = skipKeywords(words); len(words) > 0 {
			commands = append(commands, command{words: words})
		}
	}
	return commands
}

// skipKeywords skips shell keywords before a command.
func skipKeywords(words []word) []word {
	keywords := []string{"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "{", "}"}
	for len(words) > 0 && slices.Contains(keywords, words[0].text) {
		words = words[1:]
	}
	return words
}

func literal(text string) word { return word{text: text, shown: quoted(text)} }

// quoted returns a word with the necessary quotes.
func quoted(text string) string {
	if text == "[" || text == "]" {
		return text
	}
	if bare := strings.ReplaceAll(text, "=", ""); bare != "" {
		if q, err := syntax.Quote(bare, syntax.LangBash); err == nil && q == bare {
			return text // "=" means nothing in arguments
		}
	}
	q, err := syntax.Quote(text, syntax.LangBash)
	if err != nil {
		return "'" + strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD") + "'"
	}
	return q
}

// parsing collects a script from the nodes of a syntax tree.
type parsing struct {
	line    string
	loopEnd uint // offset of the end of the loops seen so far
	script
}

// visit is the callback for [syntax.Walk].
func (p *parsing) visit(node syntax.Node) bool {
	p.opaque = p.opaque || evaluates(node)
	switch n := node.(type) {
	case *syntax.Stmt:
		p.statement(n)
	case *syntax.ForClause:
		p.loopEnd = max(p.loopEnd, n.End().Offset())
		if loop, ok := n.Loop.(*syntax.WordIter); ok {
			p.sets(loop.Name.Value, "for "+loop.Name.Value)
		}
	case *syntax.WhileClause:
		p.loopEnd = max(p.loopEnd, n.End().Offset())
	case *syntax.FuncDecl, *syntax.CoprocClause:
		p.opaque = true
	case *syntax.ParamExp:
		if n.Exp != nil {
			p.expansion(n)
		}
	}
	return true
}

// expansion reads an expansion with an operator.
func (p *parsing) expansion(n *syntax.ParamExp) {
	op := n.Exp.Op
	p.opaque = p.opaque || op == syntax.OtherParamOps // ${x@P} runs what is in x
	if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
		p.sets(n.Param.Value, p.source(n))
	}
}

// sets adds a variable that the shell sets to something that is not known.
func (p *parsing) sets(name, shown string) {
	a := assign{name: name, value: word{vague: true}, shown: shown}
	if !a.isHarmless(true) {
		p.commands = append(p.commands, command{assigns: []assign{a}})
	}
}

func (p *parsing) statement(s *syntax.Stmt) {
	c := command{repeats: s.Pos().Offset() < p.loopEnd}
	for _, r := range s.Redirs {
		c.redirects = append(c.redirects, p.redirect(r)...)
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			name := strings.Trim(r.N.Value, "{}")
			c.assigns = append(c.assigns, assign{name: name, value: word{vague: true}, shown: r.N.Value + ">"})
		}
	}
	switch n := s.Cmd.(type) {
	case *syntax.CallExpr:
		c.assigns = append(c.assigns, p.assigns(n.Assigns)...)
		for _, w := range n.Args {
			c.words = append(c.words, p.word(w))
		}
	case *syntax.DeclClause: // export, declare
		c.words = []word{literal(n.Variant.Value)}
		for _, a := range n.Args {
			c.words = append(c.words, p.declared(a))
		}
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		c.words = []word{{text: "[[", shown: p.source(n)}}
	case nil: // redirections alone
	default: // a compound command, whose parts are visited
		p.redirects = append(p.redirects, c.redirects...)
		c.redirects = nil
	}
	if len(c.assigns)+len(c.words)+len(c.redirects) > 0 {
		p.commands = append(p.commands, c)
	}
}

// declared returns an argument of export and the like.
func (p *parsing) declared(a *syntax.Assign) word {
	if a.Name == nil {
		return p.word(a.Value)
	}
	return word{text: a.Name.Value + "=", shown: p.source(a)}
}

func (p *parsing) assigns(list []*syntax.Assign) []assign {
	var assigns []assign
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		value := word{vague: a.Array != nil || a.Append}
		if a.Value != nil {
			value = p.word(a.Value)
			value.vague = value.vague || a.Append
		}
		assigns = append(assigns, assign{name: a.Name.Value, value: value, shown: p.source(a)})
	}
	return assigns
}

// redirect returns a redirection to or from a file, or none for file descriptors and here-documents.
func (p *parsing) redirect(r *syntax.Redirect) []redirect {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Op == syntax.DplIn {
		return nil
	}
	target := p.word(r.Word)
	if r.Op == syntax.DplOut && isDescriptor(target) { // but >& with a file is &>
		return nil
	}
	return []redirect{{target, r.Op != syntax.RdrIn}}
}

// isDescriptor reports whether a word is a file descriptor, or "-", which closes it.
func isDescriptor(w word) bool {
	digits := strings.TrimSuffix(w.text, "-")
	return !w.vague && strings.Trim(digits, "0123456789") == ""
}

// source returns a node as written.
func (p *parsing) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(p.line)) {
		return ""
	}
	return p.line[from:to]
}

func (p *parsing) word(w *syntax.Word) word {
	out := plain(w.Parts, anything)
	if lit := w.Lit(); lit == "[" {
		out = literal(lit) // a program, and no pattern
	}
	if len(w.Parts) == 1 {
		_, out.pipe = w.Parts[0].(*syntax.ProcSubst)
	}
	out.tilde = strings.HasPrefix(p.source(w), "~")
	if out.vague || out.tilde {
		out.shown = p.source(w)
	} else {
		out.shown = quoted(out.text)
	}
	return out
}

// The characters that a backslash escapes: anything, or within double quotes only these.
const (
	anything = ""
	inQuotes = "\\\"$`\n"
)

// plain returns the text of a word as far as it is known.
func plain(parts []syntax.WordPart, escapable string) word {
	var text strings.Builder
	w := word{}
	for _, part := range parts {
		p := plainPart(part, escapable)
		text.WriteString(p.text)
		w.vague, w.loose = w.vague || p.vague, w.loose || p.loose
	}
	w.text = text.String()
	return w
}

func plainPart(part syntax.WordPart, escapable string) word {
	bare := escapable == anything
	switch p := part.(type) {
	case *syntax.Lit:
		expands := bare && expands(p.Value)
		return word{text: unescape(p.Value, escapable), vague: expands, loose: expands}
	case *syntax.SglQuoted:
		if p.Dollar {
			return decoded(p.Value)
		}
		return word{text: p.Value}
	case *syntax.DblQuoted:
		return plain(p.Parts, inQuotes)
	case *syntax.ParamExp:
		return word{text: "$", vague: true, loose: bare || isList(p)}
	}
	return word{text: "$", vague: true, loose: bare}
}

// decoded returns the text of $'…'; it is vague where shells differ.
func decoded(value string) word {
	text, _, err := expand.Format(nil, value, nil)
	w := word{text: text, vague: err != nil || strings.Contains(text, "\x00")}
	for i := 0; i+1 < len(value); i++ {
		if value[i] == '\\' {
			i++
			w.vague = w.vague || !strings.ContainsRune(`abefnrtv\'"?xuU0123`, rune(value[i]))
		}
	}
	return w
}

// isList reports whether an expansion results in several words even within quotes.
func isList(e *syntax.ParamExp) bool {
	return e.Param == nil || e.Param.Value == "@" || e.Index != nil || e.Excl
}

// expands reports whether the shell expands an unquoted text: file name patterns, and braces with
// alternatives, unlike "{}" and "HEAD@{1}".
func expands(text string) bool {
	for text != "" {
		i := strings.IndexAny(text, "*?[{")
		if i < 0 {
			return false
		}
		inside, after, closed := strings.Cut(text[i+1:], "}")
		if text[i] != '{' || !closed || strings.ContainsAny(inside, ",.{") {
			return true
		}
		text = after
	}
	return false
}

// unescape removes the backslashes before escapable bytes.
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
