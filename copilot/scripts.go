package copilot

import "strings"

// isPlainTar says whether tar only packs and unpacks, with options of one letter
// and those that are known to be harmless.
func isPlainTar(args []word) bool {
	for i, a := range args {
		name, _, _ := strings.Cut(a.text, "=")
		switch {
		case a.vague:
			return false
		case strings.HasPrefix(a.text, "--"):
			switch name {
			case "--create", "--extract", "--list", "--verbose", "--gzip", "--bzip2", "--xz", "--zstd", "--file", "--directory",
				"--exclude", "--strip-components", "--wildcards", "--no-same-owner", "--no-same-permissions":
			default:
				return false
			}
		case strings.HasPrefix(a.text, "-") || i == 0:
			if strings.Trim(strings.TrimPrefix(a.text, "-"), "cxtvzjJkpmhPfC") != "" {
				return false
			}
		case i > 0 && strings.Contains(a.text, ":"): // an archive of another host
			return false
		}
	}
	return len(args) > 0
}

// isPlainSed says whether sed runs nothing and writes no other files: all its
// scripts are given and have none of the commands e, r and w.
func isPlainSed(args []word) bool {
	given := false // by -e, so that no word is a script
	var words []word
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg.vague:
			return false
		case arg.text == "--quiet", arg.text == "--silent", arg.text == "--regexp-extended", arg.text == "--in-place":
		case !strings.HasPrefix(arg.text, "-") || arg.text == "-":
			words = append(words, arg)
		default:
			flags, script, hasScript := strings.Cut(arg.text[1:], "e")
			if before, _, inPlace := strings.Cut(flags, "i"); inPlace { // the rest is a suffix
				flags, hasScript = before, false
			}
			if strings.Trim(flags, "nErsuz") != "" {
				return false
			}
			if !hasScript {
				continue
			}
			if script == "" && len(args) > 0 {
				script, args = args[0].text, args[1:]
			}
			if given = true; !isPlainSedScript(script) {
				return false
			}
		}
	}
	if len(words) > 0 && words[0].text == "" { // of -i on macOS
		words = words[1:]
	}
	return given || len(words) > 0 && isPlainSedScript(words[0].text)
}

// isPlainSedScript reads a script of sed; it is not plain if anything is unusual.
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

// sedScript is what is left to be read of a script.
type sedScript string

// skip skips these bytes.
func (s *sedScript) skip(bytes string) { *s = sedScript(strings.TrimLeft(string(*s), bytes)) }

// address skips an address or two, and "!".
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
			return false // of "[/]" it depends on the sed where it ends
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
	case '#', 'a', 'i', 'c', ':', 'b', 't':
		return s.text(name)
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

// text skips the text of a command, to the end of its line or, of a label, to the
// next command.
func (s *sedScript) text(command byte) bool {
	if strings.IndexByte(":bt", command) >= 0 {
		i := strings.IndexAny(string(*s), "\n;}")
		if i < 0 {
			i = len(*s)
		}
		*s = (*s)[i:]
		return true
	}
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
