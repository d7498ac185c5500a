package transcript

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Script is a conversation.
type Script struct {
	Name  string // of the file, without its extension
	Needs Needs
	Steps []Step
}

// Needs are the requirements of a script.
type Needs struct {
	Args   []string // of the portal
	Config string   // of the portal, in YAML
	Desk   bool     // an MCP server that asks the user
	Only   string   // the only carrier to play it on; "" for all
	Ignore []string // methods and types of events that may come at any time
}

// The carriers of scripts.
const (
	Stdio  = "stdio"
	Socket = "socket"
)

// OwnPortal reports whether the script cannot share a portal with other scripts.
func (n Needs) OwnPortal() bool { return len(n.Args) > 0 || n.Config != "" || n.Desk }

// Step is a line of a script, or a group of them.
type Step struct {
	Line  int
	Verb  string
	Text  string // the text after the verb
	Group []Step // of [Any]: the messages expected in any order
}

// The verbs of steps; spec/transcripts/README.md says what they do.
const (
	Send       = ">"
	SendWrong  = ">!"
	Expect     = "<"
	Any        = "@any"
	Initialize = "@initialize"
	File       = "@file"
	Close      = "@close"
	Exit       = "@exit"
	Kill       = "@kill"
	Again      = "@again"
	Speaker    = "@ui"
	Session    = "@session"
	Query      = "@query"
)

// end closes a group.
const end = "@end"

// Parse parses a script. Its errors contain the line.
func Parse(path, text string) (Script, error) {
	name, _ := strings.CutSuffix(filepath.Base(path), ".txt")
	p := parser{script: Script{Name: name}}
	for _, s := range lines(text) {
		if err := p.take(s); err != nil {
			return Script{}, fmt.Errorf("%s:%d: %w", filepath.Base(path), s.Line, err)
		}
	}
	if p.group != nil {
		return Script{}, fmt.Errorf("%s:%d: @any has no @end", filepath.Base(path), p.group.Line)
	}
	return p.script, nil
}

// lines returns the lines of a script without comments, joined with their continuations.
func lines(text string) (steps []Step) {
	for n, line := range strings.Split(text, "\n") {
		rest := strings.TrimSpace(line)
		switch {
		case rest == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' && len(steps) > 0:
			steps[len(steps)-1].Text += " " + rest
		default:
			verb, text, _ := strings.Cut(rest, " ")
			steps = append(steps, Step{Line: n + 1, Verb: verb, Text: strings.TrimSpace(text)})
		}
	}
	return steps
}

// parser contains the script so far and the open group.
type parser struct {
	script Script
	group  *Step
}

func (p *parser) take(s Step) error {
	known, err := p.script.Needs.take(s)
	switch {
	case err != nil || known:
		return err
	case p.group != nil:
		return p.grouped(s)
	case s.Verb == Any:
		p.group = &s
		return nil
	case s.Verb == Exit:
		if _, err := strconv.Atoi(s.Text); err != nil {
			return fmt.Errorf("%q is not an exit code", s.Text)
		}
	}
	switch s.Verb {
	case Send, SendWrong, Expect, Initialize, File, Close, Exit, Kill, Again, Speaker, Session, Query:
		p.script.Steps = append(p.script.Steps, s)
		return nil
	}
	return fmt.Errorf("%q is unknown", s.Verb)
}

func (p *parser) grouped(s Step) error {
	switch s.Verb {
	case Expect:
		p.group.Group = append(p.group.Group, s)
	case end:
		p.script.Steps, p.group = append(p.script.Steps, *p.group), nil
	default:
		return fmt.Errorf("%s is not allowed in @any", s.Verb)
	}
	return nil
}

// take parses a header.
func (n *Needs) take(s Step) (known bool, err error) {
	switch s.Verb {
	case "@portal":
		n.Args = strings.Fields(s.Text)
	case "@config":
		n.Config = s.Text
	case "@desk":
		n.Desk = true
		return true, bare(s)
	case "@only":
		n.Only = s.Text
		if n.Only != Stdio && n.Only != Socket {
			return true, fmt.Errorf("there is no carrier %q", n.Only)
		}
	case "@ignore":
		n.Ignore = append(n.Ignore, strings.Fields(s.Text)...)
	default:
		return false, nil
	}
	if s.Text == "" {
		return true, fmt.Errorf("%s needs an argument", s.Verb)
	}
	return true, nil
}

// bare returns an error if a verb has an argument.
func bare(s Step) error {
	if s.Text != "" {
		return fmt.Errorf("%s takes no argument", s.Verb)
	}
	return nil
}
