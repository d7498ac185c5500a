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

func thoughts(topic string) []string {
	if topic == "" {
		topic = "it"
	}
	return []string{
		"Let me think about " + topic + ". ",
		"I am a script, ",
		"so I only follow the keywords of the prompt, ",
		"one after another. ",
	}
}

func introduce(prompt string) string {
	return "You wrote:\n\n> " + firstLine(prompt) + "\n\n" +
		"I am the **demo**: a script without intelligence, so that you can see the portal at work without an account. " +
		"I only follow keywords. Three things to try:\n\n" +
		"- `think about the weather, then markdown`\n" +
		"- `` run `date` ``\n" +
		"- `` ask `Tea or coffee?` choices `tea` `coffee` ``\n"
}

func proposedPlan(prompt string) string {
	return "# A scripted plan\n\n> " + firstLine(prompt) + "\n\n" +
		"1. Look at what is there.\n2. Change it.\n3. Test it.\n\n" +
		"I am the **demo**: a script without intelligence. This plan is always the same, and nothing follows its approval.\n"
}

func explain(h hint) string {
	return fmt.Sprintf("I did not understand **%s**. It is used like this:\n\n    %s\n\n", h.word, h.usage)
}

func missing(tool string, offered []string) string {
	if len(offered) == 0 {
		return fmt.Sprintf("I was not offered the tool %s, nor any other. ", quoteCode(tool))
	}
	return fmt.Sprintf("I was not offered the tool %s, only: %s. ", quoteCode(tool), strings.Join(offered, ", "))
}

func remember(earlier []string) string {
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

// report says what the tools said.
func report(script []step, t *turn) string {
	var parts []string
	at := 0
	for _, s := range script {
		if !t.calls(s) || at >= len(t.results) {
			continue
		}
		if c, ok := s.(call); ok && c.title != "" {
			parts = append(parts, c.report(t.results[at].text))
		}
		at++
	}
	return strings.Join(append([]string{"The script is done."}, parts...), "\n\n")
}

// report says what came of a call.
func (c call) report(result string) string {
	for _, chosen := range []string{"User selected: ", "User responded: "} {
		if answer, ok := strings.CutPrefix(result, chosen); ok && c.tools[0] == "ask_user" {
			return "You answered: " + answer
		}
	}
	return c.title + ":\n\n" + block(head(result))
}

// head is the beginning of a tool's result.
func head(result string) string {
	const maxLines, maxWidth = 12, 200
	lines := strings.Split(strings.TrimRight(result, "\n"), "\n")
	more := len(lines) - maxLines
	lines = lines[:min(len(lines), maxLines)]
	for i := range lines {
		lines[i] = shorten(lines[i], maxWidth)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

// block is a code block around any text.
func block(s string) string {
	fence := strings.Repeat("`", max(3, longestTicks(s)+1))
	return fence + "\n" + s + "\n" + fence
}

// quoteCode is a code span around any text.
func quoteCode(s string) string {
	fence := strings.Repeat("`", longestTicks(s)+1)
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func longestTicks(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
