package permission

import "net/url"

// Need is a permission that a request of the agent needs, with its target. A request is allowed if all its
// needs are.
type Need struct {
	Name string // name of the permission, as in [Policy]

	// Target is what the permission is about; "" if unknown or absent.
	//
	//   - For [Exec] and the git permissions: one command, with single blanks
	//     between its words and only the quotes that they need. It omits
	//     redirections, which are needs of their own, and assignments of
	//     variables that select no program; expansions are unchanged.
	//   - For [Read] and [Write]: a path; the driver makes it absolute and
	//     follows its links. "" is a path that the shell computes at run time,
	//     which may be any path.
	//   - For [Fetch]: an address (URL). "" is one that the shell computes.
	Target string

	// Prefix is the program of a command with its subcommand, such as "ls", "git status" or "npm test": the
	// first words of Target. A rule for all commands with this prefix covers what its reader expects. ""
	// means that there must be no such rule, because the following words determine the program: then a
	// pattern may match only the exact Target, or all commands.
	Prefix string

	// Opaque says that a command can run other commands that Target does not show: an interpreter, a build
	// tool, a script, or any unknown program. If anything is denied that such a command could do, the agent
	// must at least ask for it.
	Opaque bool

	// Connects says that the shell may open a connection for a command: it computes the name of a file that it redirects.
	Connects bool

	// Line is the whole command line that contains the command or redirection: the effect of an opaque
	// command may depend on the rest of the line.
	Line string
}

// isUnknown reports whether the need is for a file or host that cannot be told, so that it may be any.
func (n Need) isUnknown() bool {
	if isHost(n.Name) {
		u, err := url.Parse(n.Target)
		return err != nil || u.Host == ""
	}
	return isFile(n.Name) && n.Target == ""
}
