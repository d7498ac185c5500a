// Package render makes safe HTML of Markdown, code, diffs and terminal output, for our
// page and any UI that shows HTML.
//
// What comes in was written by a model or a program and is trusted with nothing. All that
// goes out has passed one policy: no scripts, no styles, no images, no ids, links to http,
// https and mailto only, colours as classes. What these look like say styles/code.css and
// styles/terminal.css of the page; a test holds the two together.
//
// All functions are pure and may be called concurrently. A [Stream] belongs to one caller.
package render

// Limits. What is beyond them is shown as text, or left out with a note that says so. They
// keep what a hostile text costs in proportion to its length: some parsers underneath take
// time with the square of what they are given.
const (
	maxHTML     = 4 << 20   // of one block
	maxMarkdown = 1 << 20   // source of a text that is read as Markdown; the rest is plain
	maxBlock    = 64 << 10  // source of a block of Markdown; cut there
	softBlock   = 8 << 10   // from here on a list is divided between two of its items
	maxFence    = 8 << 10   // source of a code block in Markdown; it goes on in another
	fenceLines  = 100       // the same, in lines
	eager       = 4 << 10   // source of a tail that is rendered with each piece
	maxLine     = 16 << 10  // of Markdown
	maxSpecial  = 4000      // characters of a block that mean something within a line
	maxCells    = 20000     // of a table, those included that are only filled up
	maxNesting  = 32        // quotes and lists that one line opens
	maxLinks    = 500       // definitions of link references
	maxColoured = 128 << 10 // source of code with colours
	maxCodeLine = 2000      // of code with colours
	maxText     = 768 << 10 // of code and diffs; five times as much when all has to be escaped
	maxTerminal = 512 << 10 // the end of what a terminal shows
	maxScreen   = 2000      // lines of it
	maxURL      = 2048
)
