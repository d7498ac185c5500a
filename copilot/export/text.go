package export

import (
	"regexp"
	"strings"

	"github.com/copilot-portal/portal/copilot/plain"
)

func oneLine(s string) string { return strings.Join(strings.Fields(plain.StripAll(s)), " ") }

var special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#&!|~]")

// inline returns literal text on one line.
func inline(s string) string { return escaped(oneLine(s)) }

func escaped(s string) string { return special.ReplaceAllString(s, `\$0`) }

// commands is like inline, but keeps code in backticks.
func commands(s string) string {
	parts := strings.Split(oneLine(s), "`")
	if len(parts)%2 == 0 {
		return inline(s)
	}
	for i := range parts {
		if i%2 == 0 {
			parts[i] = escaped(parts[i])
		} else {
			parts[i] = code(parts[i])
		}
	}
	return strings.Join(parts, "")
}

// code returns text as inline code.
func code(s string) string {
	s = oneLine(s)
	ticks := strings.Repeat("`", longest(s)+1)
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// fenced returns text as a code block, with a fence longer than any in it.
func fenced(language, s string) string {
	s = plain.StripAll(s)
	fence := strings.Repeat("`", max(3, longest(s)+1))
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// longest returns the length of the longest run of backticks.
func longest(s string) int {
	most, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != '`' {
			run = 0
		}
		most = max(most, run)
	}
	return most
}

// markdown returns Markdown that surely leaves nothing open. Other text becomes code.
func markdown(s string) string {
	s = strings.Trim(plain.StripAll(s), "\n")
	if !closed(s) {
		return fenced("markdown", s)
	}
	return s
}

// quoted returns Markdown as a quotation.
func quoted(s string) string {
	return "> " + strings.ReplaceAll(markdown(s), "\n", "\n> ")
}

var (
	fenceLine = regexp.MustCompile("^(?:(```+)[^`]*|(~~~+).*)$")
	spans     = regexp.MustCompile("`[^`]*`")
	links     = regexp.MustCompile(`<https?://[^<>\s]*>`)
	tag       = regexp.MustCompile(`<[!?/A-Za-z]`)
)

// closed reports whether Markdown surely leaves no code block and no HTML open. It recognizes only the common case:
// fences at the beginning of lines, HTML in code.
func closed(s string) bool {
	fence := "" // the open fence
	var text strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, " \t\n")
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case fence != "":
			if len(line) >= len(fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
			}
		case m != nil:
			fence = m[1] + m[2]
		case strings.Contains(line, "```") || strings.Contains(line, "~~~"):
			return false
		default:
			text.WriteString(line + "\n")
		}
	}
	return fence == "" && !hasTags(text.String())
}

// hasTags reports whether text outside code blocks may contain HTML.
func hasTags(text string) bool {
	if !tag.MatchString(text) {
		return false
	}
	for line := range strings.Lines(text) {
		if strings.Count(line, "`")%2 != 0 || strings.Contains(line, "``") || strings.Contains(line, "\\`") {
			return true // ambiguous code
		}
	}
	return tag.MatchString(links.ReplaceAllString(spans.ReplaceAllString(text, ""), ""))
}
