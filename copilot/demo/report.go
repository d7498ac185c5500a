package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	directing = regexp.MustCompile(`(?s)^\s*<!-- demo:(.*?)-->`)
)

// directions returns the keywords of a text that begins with <!-- demo: KEYWORDS -->, for tests.
func directions(text string) string {
	if m := directing.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// report answers the prompt of an operation, which offers a tool for its report. The report is canned and quotes the
// document. It returns nil for other prompts: those that have no document and do not name the tool.
func (t *turn) report() []step {
	tool, offered := t.offers("report_questions", "report_analysis", "report_plan")
	if !offered || !t.fresh && !strings.Contains(t.prompt, tool) {
		return nil
	}
	var steps []step
	directed := directions(t.document)
	if t.fresh {
		steps = parse(directed, t.dir)
	}
	title, sentence := excerpt(t.document)
	switch {
	case title == "":
		return append(steps, say("I got no document, so there is nothing that I could report.\n"))
	case strings.HasSuffix(directed, "forget") && t.fresh:
		return append(steps, say("I have read it all, and forget to report.\n"))
	}
	section := map[string]string{"report_questions": "Gaps", "report_analysis": "Checks", "report_plan": "Decisions"}[tool]
	read := fmt.Sprintf("## Reading\n\nCharacters: %d\n\n## %s\n\n- %s\n", utf8.RuneCountInString(t.document), section, sentence)
	return append(steps, reason("Reading the document...\n", "I am a script: I always report the same.\n"),
		say(read), call{[]string{tool}, cannedReport(tool, title, sentence)}, say("Reported.\n"))
}

// excerpt returns two lines of a document without markup: the first one, and the first one that is not a heading.
func excerpt(document string) (title, sentence string) {
	const enough = 80
	for line := range strings.Lines(comment.ReplaceAllString(document, "")) {
		text := shorten(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#-*+[] \t")), enough)
		if title == "" {
			title = text
		}
		if text != "" && !strings.HasPrefix(line, "#") {
			return title, text
		}
	}
	return title, title
}

// cannedReport returns the arguments of a report that contains two lines of the document.
func cannedReport(tool, title, sentence string) (args map[string]any) {
	inString := func(text string) string {
		quoted, _ := json.Marshal(text) // never fails for a string
		return string(quoted[1 : len(quoted)-1])
	}
	report, err := cannedReports.ReadFile("canned/" + tool + ".json")
	if err == nil {
		filled := strings.NewReplacer("TITLE", inString(title), "SENTENCE", inString(sentence)).Replace(string(report))
		err = json.Unmarshal([]byte(filled), &args)
	}
	if err != nil {
		panic(err) // the files are embedded, and tests read all of them
	}
	return args
}
