package permission

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"mvdan.cc/sh/v3/syntax"
)

// commandPattern matches simple commands by their words: those of the pattern, and
// any others behind them if it is open.
type commandPattern struct {
	simple
	open   bool
	opaque bool // its own words name a program that may run any other
}

// simple is a simple command.
type simple struct {
	assigns []string // as they are written
	words   []word
}

// parseCommand reads a pattern such as "git status *" as the shell would.
func parseCommand(body string) (pattern, error) {
	c, open, err := readSimple(body)
	if err != nil {
		return nil, err
	}
	if open {
		c.words = c.words[:len(c.words)-1]
	}
	for _, w := range c.words {
		if w.vague {
			return nil, fault.Errorf(fault.Invalid, "the shell expands a word of %q: quote it, or end the pattern with a *", body)
		}
	}
	if len(c.words) == 0 {
		return nil, fault.Errorf(fault.Invalid, "the pattern names no program: the name alone is about all commands")
	}
	return commandPattern{c, open, runsAny(c.words)}, nil
}

// readSimple reads what is one command and nothing else. Open says that it ends with
// a bare *.
func readSimple(text string) (c simple, open bool, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return simple{}, false, fault.Errorf(fault.Invalid, "the command cannot be read: %w", err)
	}
	if len(file.Stmts) != 1 || !isPlain(file.Stmts[0]) {
		return simple{}, false, fault.Errorf(fault.Invalid, "a pattern is one command with its arguments, as in git status *")
	}
	call, _ := file.Stmts[0].Cmd.(*syntax.CallExpr) // it is plain
	for _, a := range call.Assigns {
		c.assigns = append(c.assigns, text[a.Pos().Offset():a.End().Offset()])
	}
	for _, w := range call.Args {
		c.words = append(c.words, plain(w.Parts, anything))
		lit, ok := w.Parts[0].(*syntax.Lit)
		open = ok && len(w.Parts) == 1 && lit.Value == "*"
	}
	return c, open, nil
}

func isPlain(s *syntax.Stmt) bool {
	_, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(s.Redirs) == 0 && !s.Background && !s.Negated && !s.Coprocess
}

// runsAny says whether words name a program that may run any other.
func runsAny(words []word) bool {
	var list []string
	for _, w := range words {
		list = append(list, w.text)
	}
	return slices.ContainsFunc(ShellNeeds(shellWords(list)), func(n Need) bool { return n.Opaque && n.Prefix == "" })
}

func (p commandPattern) rank() int {
	if p.open {
		return len(p.words)
	}
	return exactRank + len(p.words)
}

func (p commandPattern) matches(n Need, d Decision) bool {
	c, _, err := readSimple(n.Target)
	switch {
	case err != nil:
		return false
	case d == Allow:
		return p.covers(n, c)
	}
	return p.concerns(c.words)
}

// covers is matches for a rule that allows: nothing may be in doubt.
func (p commandPattern) covers(n Need, c simple) bool {
	if !slices.Equal(p.assigns, c.assigns) || !p.begins(c.words) {
		return false
	}
	rest := c.words[len(p.words):]
	if !p.open {
		return len(rest) == 0
	}
	return (n.Prefix != "" || p.opaque) && !slices.ContainsFunc(rest, substitutes)
}

func (p commandPattern) begins(words []word) bool {
	if len(words) < len(p.words) {
		return false
	}
	for i, w := range p.words {
		if words[i].vague || words[i].text != w.text {
			return false
		}
	}
	return true
}

// substitutes says whether a word may come from a variable or from another command.
func substitutes(w word) bool { return w.vague && strings.Contains(w.text, "$") }

// concerns is matches for a rule that refuses or asks: wherever the program lies, and
// whatever options stand before a subcommand.
func (p commandPattern) concerns(words []word) bool {
	if len(words) == 0 || programName(words[0].text) != programName(p.words[0].text) {
		return false
	}
	next, option := 1, false
	for _, w := range words[1:] {
		isOption := strings.HasPrefix(w.text, "-")
		switch {
		case next == len(p.words):
			return p.open
		case !w.vague && w.text == p.words[next].text:
			next++
		case !p.open || !option && !isOption:
			return false
		}
		option = isOption
	}
	return next == len(p.words)
}

// shellWords are words as a shell reads them.
func shellWords(words []string) string {
	const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"
	list := slices.Clone(words)
	for i, w := range list {
		if w == "" || strings.Trim(w, bare) != "" {
			list[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}
