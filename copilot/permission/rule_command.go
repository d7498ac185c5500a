package permission

import (
	"errors"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"mvdan.cc/sh/v3/syntax"
)

// commandPattern matches simple commands by their words. If it is open, more words may follow.
type commandPattern struct {
	simple
	open   bool
	opaque bool // its words name a program that may run any other
}

// simple is a simple command.
type simple struct {
	assigns []string // as written
	words   []word
}

// parseCommand parses a pattern such as "git status *" like a shell.
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
			return nil, fault.Errorf(fault.Invalid, "the shell would expand a word of %q: quote it, or end the pattern with a *", body)
		}
	}
	if len(c.words) == 0 {
		return nil, fault.Errorf(fault.Invalid, "the pattern names no program: use the name alone for all commands")
	}
	return commandPattern{c, open, runsAny(c.words)}, nil
}

// readSimple parses a text that must be a single command. open is true if it ends with a bare *. With errMisread, bash may read another
// command.
func readSimple(text string) (c simple, open bool, err error) {
	file, err := parse(text)
	if err != nil {
		err = fault.Errorf(fault.Invalid, "the command is not valid: %w", err)
	}
	if file == nil {
		return simple{}, false, err
	}
	if len(file.Stmts) != 1 || !isPlain(file.Stmts[0]) {
		return simple{}, false, fault.Errorf(fault.Invalid, "a pattern must be a single command with its arguments, as in git status *")
	}
	call, _ := file.Stmts[0].Cmd.(*syntax.CallExpr) // it is a call
	for _, a := range call.Assigns {
		c.assigns = append(c.assigns, text[a.Pos().Offset():a.End().Offset()])
	}
	for _, w := range call.Args {
		c.words = append(c.words, plain(w.Parts, anything))
		lit, ok := w.Parts[0].(*syntax.Lit)
		open = ok && len(w.Parts) == 1 && lit.Value == "*"
	}
	return c, open, err
}

func isPlain(s *syntax.Stmt) bool {
	_, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(s.Redirs) == 0 && !s.Background && !s.Negated && !s.Coprocess
}

// runsAny reports whether words name a program that may run any other.
func runsAny(words []word) bool {
	r := reading{}
	r.command(command{words: words}, []string{""}, 0)
	return slices.ContainsFunc(r.needs, func(n Need) bool { return n.Opaque && n.Prefix == "" })
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
	case err != nil && (d == Allow || !errors.Is(err, errMisread)):
		return false
	case d == Allow:
		return p.covers(n, c)
	}
	return p.concerns(c.words)
}

// covers implements matches for rules that allow: there must be no doubt.
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

// substitutes reports whether a word may come from a variable or from another command.
func substitutes(w word) bool { return w.vague && strings.Contains(w.text, "$") }

// concerns implements matches for rules that deny or ask: it ignores the path of the program and options
// before a subcommand.
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
