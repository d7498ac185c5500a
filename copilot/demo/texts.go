package demo

import (
	"fmt"
	"strings"
)

const sample = "# A scripted answer\n\n" +
	"This text comes from a *script*, **not** from a model. It shows what Markdown looks like here.\n\n" +
	"## A list\n\n" +
	"- one item\n- another with `code`\n  1. first\n  2. second\n\n" +
	"## A table\n\n" +
	"| planet | moons | rings |\n| --- | ---: | :---: |\n| Earth | 1 | no |\n| Saturn | 274 | yes |\n\n" +
	"## Code\n\n" +
	"```go\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"Hello, 世界\")\n}\n```\n\n" +
	"> A quotation ends it. More about [GitHub Copilot](https://github.com/features/copilot).\n"

const introduction = "\n\n" +
	"I am the **demo**: a script without intelligence, so that you can see the portal at work without an account. " +
	"I only follow keywords. Three things to try:\n\n" +
	"- `think about the weather, then markdown`\n" +
	"- `` run `date` ``\n" +
	"- `` ask `Tea or coffee?` choices `tea` `coffee` ``\n"

const cannedPlan = "\n\n1. Look at what is there.\n2. Change it.\n3. Test it.\n\n" +
	"I am the **demo**: a script without intelligence. This plan is always the same, and nothing follows its approval.\n"

func listPrompts(earlier []string) string {
	if len(earlier) == 0 {
		return "This is the first prompt of the conversation.\n"
	}
	var list strings.Builder
	list.WriteString("The earlier prompts of this conversation:\n\n")
	for i, prompt := range earlier {
		fmt.Fprintf(&list, "%d. %s\n", i+1, strings.ReplaceAll(prompt, "\n", "\n   "))
	}
	return list.String()
}

// summarizeResults quotes the beginnings of what the tools said. That to-dos were changed is not worth a word.
func summarizeResults(script []step, t *turn) string {
	const maxLines, maxWidth = 12, 200
	text, results := "The script is done.", t.results
	for _, s := range script {
		if !t.calls(s) || len(results) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimRight(results[0].text, "\n"), "\n")
		if more := len(lines) - maxLines; more > 0 {
			lines = append(lines[:maxLines], fmt.Sprintf("… and %d more lines", more))
		}
		for i := range lines {
			lines[i] = shorten(lines[i], maxWidth)
		}
		quoted, fence := strings.Join(lines, "\n"), "```"
		for strings.Contains(quoted, fence) {
			fence += "`"
		}
		if c, ok := s.(call); ok && c.tools[0] != "sql" {
			text += "\n\n" + fence + "\n" + quoted + "\n" + fence
		}
		results = results[1:]
	}
	return text
}

// firstLine is the beginning of a text, short enough for a heading.
func firstLine(s string) string {
	const enough = 80
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return shorten(line, enough)
}

// shorten cuts a text to limit characters.
func shorten(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}
