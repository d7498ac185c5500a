package permission

import (
	"slices"
	"strings"
)

// sedCommand holds the known properties of a sed command.
type sedCommand struct {
	scripts []string
	words   []word // that are not options
	plain   bool   // as far as known
}

// isPlainSed reports whether sed runs nothing and writes no other files: all its scripts are given and
// contain none of the commands e, r and w.
func isPlainSed(args []word) bool {
	c := sedCommand{plain: true}
	for len(args) > 0 && c.plain {
		args = c.argument(args[0], args[1:])
	}
	if len(c.words) > 0 && c.words[0].text == "" { // for -i on macOS
		c.words = c.words[1:]
	}
	if len(c.scripts) == 0 && len(c.words) > 0 {
		c.scripts = []string{c.words[0].text}
	}
	return c.plain && len(c.scripts) > 0 && !slices.ContainsFunc(c.scripts, func(s string) bool { return !isPlainSedScript(s) })
}

// argument reads an argument and returns the arguments after its value.
func (c *sedCommand) argument(arg word, behind []word) []word {
	switch {
	case arg.vague:
		c.plain = false
	case arg.text == "--quiet", arg.text == "--silent", arg.text == "--regexp-extended", arg.text == "--in-place":
	case !strings.HasPrefix(arg.text, "-"), arg.text == "-":
		c.words = append(c.words, arg)
	default:
		return c.letters(arg.text[1:], behind)
	}
	return behind
}

// letters reads combined single-letter options.
func (c *sedCommand) letters(letters string, behind []word) []word {
	for i, letter := range letters {
		switch letter {
		case 'n', 'E', 'r', 's', 'u', 'z':
			continue
		case 'i': // the rest is a suffix
		case 'e':
			script := letters[i+1:]
			if script == "" && len(behind) > 0 {
				c.plain = c.plain && !behind[0].vague
				script, behind = behind[0].text, behind[1:]
			}
			c.scripts = append(c.scripts, script)
		default:
			c.plain = false
		}
		return behind
	}
	return behind
}

// isPlainSedScript reports whether a script is plain. Anything unusual is not.
func isPlainSedScript(script string) bool {
	s := sedScript(script)
	for {
		s = sedScript(strings.TrimLeft(string(s), " \t\n;}"))
		if s == "" {
			return true
		}
		if !s.address() || !s.command() {
			return false
		}
	}
}

// sedScript is the unread rest of a script.
type sedScript string

// skip skips these bytes.
func (s *sedScript) skip(bytes string) { *s = sedScript(strings.TrimLeft(string(*s), bytes)) }

// address skips up to two addresses, and "!".
func (s *sedScript) address() bool {
	for {
		s.skip("0123456789$~+ \t")
		if strings.HasPrefix(string(*s), "/") {
			if !s.delimited(1) {
				return false
			}
			s.skip("IM")
		}
		s.skip(" \t")
		if !strings.HasPrefix(string(*s), ",") {
			s.skip("! \t")
			return true
		}
		*s = (*s)[1:]
	}
}

// delimited skips a delimiter and as many parts that end with it.
func (s *sedScript) delimited(parts int) bool {
	if *s == "" {
		return false
	}
	text, delimiter := string((*s)[1:]), (*s)[0]
	if delimiter == '\\' || delimiter == '\n' || delimiter >= 0x80 {
		return false
	}
	for ; parts > 0; parts-- {
		end := 0
		for end < len(text) && text[end] != delimiter {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) || strings.LastIndexByte(text[:end], '[') > strings.LastIndexByte(text[:end], ']') {
			return false // where "[/]" ends depends on the implementation of sed
		}
		text = text[end+1:]
	}
	*s = sedScript(text)
	return true
}

// command skips a command that neither runs programs nor reads or writes files.
func (s *sedScript) command() bool {
	if *s == "" {
		return false
	}
	name := (*s)[0]
	*s = (*s)[1:]
	switch name {
	case '{':
		return true
	case '#', 'a', 'i', 'c':
		return s.text(name)
	case ':', 'b', 't': // a label, after which another command may follow
		s.skip(" \t")
		s.skip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
	case 's':
		if !s.delimited(2) {
			return false
		}
		s.skip("gpiIm0123456789")
	case 'y':
		if !s.delimited(2) {
			return false
		}
	case 'p', 'd', 'q', 'Q', '=', 'n', 'N', 'D', 'P', 'g', 'G', 'h', 'H', 'x', 'l':
		s.skip("0123456789")
	default:
		return false
	}
	s.skip(" \t")
	return *s == "" || strings.ContainsRune(";\n}#", rune((*s)[0]))
}

// text skips the text of a command, to the end of its line.
func (s *sedScript) text(command byte) bool {
	i := 0
	for i < len(*s) && (*s)[i] != '\n' {
		if (*s)[i] == '\\' && command != '#' {
			i++
		}
		i++
	}
	*s = (*s)[min(i, len(*s)):]
	return true
}
