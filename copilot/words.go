package copilot

import (
	"bytes"
	"strings"
)

// word is a word of a shell command, without its quotes.
type word struct {
	text  string
	vague bool // the shell makes something of it that does not stand here
}

// blank are the bytes that part words; others part commands.
const blank = " \t\r"

// lexer reads a command line as a POSIX shell would, as far as it is needed to
// see which programs are called with which arguments. It is meant for what an
// agent writes: what it does not understand makes it say opaque.
type lexer struct {
	rest     string
	commands [][]word
	opaque   bool      // code is made at run time, by a substitution
	bodies   []heredoc // that begin behind the line
	level
	outer []level // those around the current one
}

// level is the state within one pair of parentheses.
type level struct {
	words  []word // of the command so far
	text   []byte // of the word so far
	inWord bool
	quoted bool   // part of the word is
	vague  bool   // of the word
	target target // what the word will be, if not one of the command
	inText bool   // double quotes are open around the parentheses
}

// target is what a word behind a redirection is.
type target int

const (
	noTarget target = iota
	fileTarget
	heredocTarget
)

// heredoc is a text that follows the line, up to its mark.
type heredoc struct {
	mark    string
	literal bool // nothing in it is substituted
}

// shellCommands parts a command line into commands of at least one word each.
// Opaque says that they are not all that may run.
func shellCommands(line string) (commands [][]word, opaque bool) {
	l := lexer{rest: line}
	for l.rest != "" {
		l.read(l.take())
	}
	for len(l.outer) > 0 {
		l.opaque = true // parentheses do not close
		l.leave()
	}
	l.endCommand()
	return l.commands, l.opaque
}

// take gives the next byte.
func (l *lexer) take() byte {
	c := l.rest[0]
	l.rest = l.rest[1:]
	return c
}

// skip skips a prefix if it is there.
func (l *lexer) skip(prefix string) bool {
	var ok bool
	l.rest, ok = strings.CutPrefix(l.rest, prefix)
	return ok
}

func (l *lexer) read(c byte) {
	switch c {
	case '\\':
		l.escape()
	case '\'':
		l.literal()
	case '"':
		l.inWord, l.quoted = true, true
		l.quote()
	case '$':
		l.dollar()
	case '`':
		l.backquote()
	case '<', '>':
		l.redirect(string(c))
	case '(':
		l.endCommand()
		l.enter(false)
	case ')':
		l.leave()
	default:
		l.plain(c)
	}
}

// plain reads a byte outside of quotes that begins no expansion.
func (l *lexer) plain(c byte) {
	switch {
	case strings.IndexByte(blank, c) >= 0:
		l.endWord()
	case c == '\n':
		l.endCommand()
		l.skipHeredocs()
	case c == '&' && strings.HasPrefix(l.rest, ">"):
		l.redirect("")
	case strings.IndexByte(";&|", c) >= 0:
		l.endCommand()
	case c == '#' && !l.inWord:
		for l.rest != "" && l.rest[0] != '\n' {
			l.take()
		}
	default:
		l.vague = l.vague || strings.IndexByte("*?[{", c) >= 0
		l.add(c)
	}
}

func (l *lexer) add(text ...byte) {
	l.text = append(l.text, text...)
	l.inWord = true
}

// escape reads what follows a backslash outside of quotes.
func (l *lexer) escape() {
	switch {
	case l.rest == "":
		l.opaque = true
	case l.skip("\n"): // the command goes on in the next line
	default:
		l.quoted = true
		l.add(l.take())
	}
}

// literal reads up to a single quote.
func (l *lexer) literal() {
	text, after, closed := strings.Cut(l.rest, "'")
	l.add([]byte(text)...)
	l.rest, l.quoted = after, true
	l.opaque = l.opaque || !closed
}

// quote reads up to a double quote, or a command in place of text.
func (l *lexer) quote() {
	for l.rest != "" {
		switch c := l.take(); {
		case c == '"':
			return
		case c == '\\' && l.rest != "" && strings.IndexByte("\\\"$`\n", l.rest[0]) >= 0:
			if e := l.take(); e != '\n' {
				l.add(e)
			}
		case c == '$' && l.skip("("):
			l.substitute()
			l.enter(true)
			return
		case c == '`':
			l.backquote()
		default:
			l.vague = l.vague || c == '$'
			l.add(c)
		}
	}
	l.opaque = true // it does not close
}

// dollar reads what follows a dollar sign outside of quotes.
func (l *lexer) dollar() {
	switch {
	case l.skip("("):
		l.substitute()
		l.enter(false)
	case strings.HasPrefix(l.rest, "'"): // with escapes that are not read here
		l.opaque, l.vague = true, true
	default:
		l.vague = true
		l.add('$')
	}
}

// backquote reads the older form of a substitution.
func (l *lexer) backquote() {
	code, after, _ := strings.Cut(l.rest, "`")
	l.rest = after
	l.substitute()
	commands, _ := shellCommands(code)
	l.commands = append(l.commands, commands...)
}

// substitute notes that the word will be what a command says.
func (l *lexer) substitute() {
	l.opaque = true
	l.vague = true
	l.add('$')
}

func (l *lexer) enter(inText bool) {
	l.inText = inText
	l.outer = append(l.outer, l.level)
	l.level = level{}
}

func (l *lexer) leave() {
	l.endCommand()
	if len(l.outer) == 0 {
		return // of a case
	}
	l.level = l.outer[len(l.outer)-1]
	l.outer = l.outer[:len(l.outer)-1]
	if l.inText {
		l.inText = false
		l.quote()
	}
}

// redirect reads a redirection, whose target is no word of the command.
func (l *lexer) redirect(operator string) {
	if !l.quoted && len(bytes.Trim(l.text, "0123456789")) == 0 {
		l.text, l.inWord = nil, false // the number of a descriptor
	}
	l.endWord()
	for l.rest != "" && strings.IndexByte("<>&|", l.rest[0]) >= 0 {
		operator += string(l.take())
	}
	switch {
	case l.skip("("): // a command in place of a file
		l.substitute()
		l.enter(false)
	case operator == "<<":
		l.skip("-")
		l.target = heredocTarget
	default:
		l.target = fileTarget
	}
}

func (l *lexer) endWord() {
	if !l.inWord {
		return
	}
	switch l.target {
	case noTarget:
		l.words = append(l.words, word{text: string(l.text), vague: l.vague})
	case heredocTarget:
		l.bodies = append(l.bodies, heredoc{mark: string(l.text), literal: l.quoted})
	case fileTarget:
	}
	l.level = level{words: l.words}
}

func (l *lexer) endCommand() {
	l.endWord()
	if len(l.words) > 0 {
		l.commands = append(l.commands, l.words)
	}
	l.level = level{}
}

// skipHeredocs skips the texts that follow the line.
func (l *lexer) skipHeredocs() {
	for _, h := range l.bodies {
		for l.rest != "" {
			line, after, _ := strings.Cut(l.rest, "\n")
			l.rest = after
			if strings.TrimLeft(line, "\t") == h.mark {
				break
			}
			if !h.literal && (strings.Contains(line, "$(") || strings.Contains(line, "`")) {
				l.opaque = true
			}
		}
	}
	l.bodies = nil
}
