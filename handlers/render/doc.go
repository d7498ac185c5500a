// Package render converts Markdown, code, diffs and terminal output to safe HTML, for the
// page and any UI that shows HTML.
//
// Input is untrusted. All output has passed one policy: no scripts, styles, images or ids,
// links to http, https and mailto only, colors as classes. The page's styles/code.css and
// styles/terminal.css define the classes, which a test checks.
//
// All functions are pure and may be called concurrently. A [Stream] belongs to one caller.
package render

// Limits. Text beyond them is shown plain, or omitted with a note. They keep the cost of
// hostile text proportional to its length: some of the parsers take quadratic time.
const (
	maxHTML     = 4 << 20   // bytes of one block
	maxMarkdown = 1 << 20   // bytes of a text parsed as Markdown; the rest is plain
	maxBlock    = 64 << 10  // bytes of a Markdown block; cut there
	softBlock   = 8 << 10   // bytes after which a list is divided between items
	maxFence    = 8 << 10   // bytes of a code block in Markdown, which continues in another
	fenceLines  = 100       // the same, in lines
	eager       = 4 << 10   // bytes of a tail that is rendered with each piece
	maxLine     = 16 << 10  // bytes of a Markdown line
	maxSpecial  = 4000      // characters with an inline meaning in a block
	maxCells    = 20000     // of a table, padding included
	maxNesting  = 32        // quotes and lists opened by one line
	maxLinks    = 500       // link reference definitions
	maxColored  = 128 << 10 // bytes of code with colors
	maxCodeLine = 2000      // bytes of a line of such code
	maxText     = 768 << 10 // bytes of code and diffs; five times as much if everything is escaped
	maxTerminal = 512 << 10 // bytes at the end of terminal output
	maxScreen   = 2000      // lines of terminal output
	maxURL      = 2048
)
