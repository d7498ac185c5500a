package permission

// Need is one permission that a request of the agent needs, and what it is
// about. The request is allowed when each of its needs is.
type Need struct {
	Name string // of the permission, as in [Policy]

	// Target is what the permission is about; "" if that cannot be told, or if
	// there is nothing to tell.
	//
	//   - Of [Exec] and the names of git: one command, with one blank between
	//     its words and only the quotes that they need. Redirections are left out
	//     (they have needs of their own), and so are assignments of variables that
	//     select no program; expansions stand as they are written.
	//   - Of [Read] and [Write]: a path, absolute with its links followed
	//     once the driver has passed it on; "" for one that the shell makes at run
	//     time, which may be any.
	//   - Of [Fetch]: an address (URL).
	Target string

	// Prefix is, of a command, its program with its subcommand, such as "ls",
	// "git status" or "npm test": the first words of Target. A rule for all
	// commands that begin so stands for what its reader expects. "" if there must
	// be no such rule, because the words behind say which program runs: a pattern
	// may then match the exact Target only, or all commands.
	Prefix string

	// Opaque says, of a command, that it can run other commands, of which Target
	// does not tell: an interpreter, a build tool, a script, any program that is
	// not known to run nothing. Where something is denied that such a command
	// could do, it is at least asked for.
	Opaque bool

	// Line is, of a command and of what it redirects, the whole command line that it
	// stands in: what an opaque command does may depend on the others.
	Line string
}
