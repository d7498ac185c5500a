package code

import (
	"regexp"
	"slices"
	"strings"
)

// Find extracts the code from a model's answer: the longest fenced block in a language of the frame, otherwise the longest
// without a language, otherwise the whole answer if it declares App. An unclosed block ends with the answer.
func Find(answer string) (source string, ok bool) {
	languages := []string{"jsx", "tsx", "js", "ts", "javascript", "typescript", "react"}
	var marked, unmarked string
	for _, b := range blocks(answer) {
		switch {
		case b.language == "" && len(b.text) > len(unmarked):
			unmarked = b.text
		case slices.Contains(languages, strings.ToLower(b.language)) && len(b.text) > len(marked):
			marked = b.text
		}
	}
	for _, text := range []string{marked, unmarked} {
		if strings.TrimSpace(text) != "" {
			return text, true
		}
	}
	declares := regexp.MustCompile(`(?m)^\s*(export\s+(default\s+)?)?(function|const|let|var|class)\s+App\b`)
	if declares.MatchString(answer) && !fence().MatchString(answer) {
		return answer, true
	}
	return "", false
}

type block struct{ language, text string }

// fence matches a line that opens or closes a block, as in CommonMark: three or more characters, possibly indented.
func fence() *regexp.Regexp {
	return regexp.MustCompile("(?m)^[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z]*)([^`\n]*)$")
}

func blocks(answer string) []block {
	var all []block
	var opened string // the fence of the open block
	var language string
	var text strings.Builder
	fences := fence()
	for line := range strings.Lines(strings.ReplaceAll(answer, "\r\n", "\n")) {
		m := fences.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case opened == "" && m != nil:
			opened, language = m[1], m[2]
		case opened != "" && m != nil && strings.HasPrefix(m[1], opened) && m[2] == "" && strings.TrimSpace(m[3]) == "":
			all = append(all, block{language, text.String()})
			opened = ""
			text.Reset()
		case opened != "":
			text.WriteString(line)
		}
	}
	if opened != "" {
		all = append(all, block{language, text.String()})
	}
	return all
}
