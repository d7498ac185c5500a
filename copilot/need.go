package copilot

import "slices"

// Need is one permission that a request of the agent needs: its name, and the
// subject that patterns of rules are compared with.
type Need struct {
	Name string // by the names of [Policy]

	// Of exec.run and git.*: the simple command, assignments before it included.
	// None if it cannot be told. Line is the whole command line it stands in, which
	// a redirection of that has, too.
	Words  []Word
	Opaque bool // the command can do more than its words show
	Line   string

	Path string // of fs.*: absolute, clean, links followed; "" if it cannot be told
	Host string // of net.fetch: lower case, with the port if the address names one
}

// Word is a word of a shell command.
type Word struct {
	Text  string // without quotes; of a vague word as it stands in the command line
	Vague bool   // the shell expands it: a pattern of files, a variable, a substitution
}

// With returns the question with what it asks for.
func (q Question) With(needs ...Need) Question {
	q.Needs, q.Names, q.Path, q.Opaque = needs, nil, "", false
	for _, n := range needs {
		if !slices.Contains(q.Names, n.Name) {
			q.Names = append(q.Names, n.Name)
		}
		if n.Name == PermRead && q.Path == "" {
			q.Path = n.Path
		}
		q.Opaque = q.Opaque || n.Opaque
	}
	return q
}

// needs are those of a permission; where only names are known, needs without
// subjects.
func (q Question) needs() []Need {
	switch {
	case len(q.Needs) > 0:
		return q.Needs
	case len(q.Names) == 0:
		return []Need{{}}
	}
	list := make([]Need, 0, len(q.Names))
	for _, name := range q.Names {
		n := Need{Name: name, Opaque: q.Opaque}
		if name == PermRead {
			n.Path = q.Path
		}
		list = append(list, n)
	}
	return list
}
