package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// interfaceCode is the interface for every API. It follows a line with settings and one with the outline of the API,
// which it reads at run time.
//
//go:embed interface.jsx
var interfaceCode string

// loop hangs at run time, which no check of the code detects.
const loop = "\nfunction useLoop() {\n  useEffect(() => {\n    for (let n = 0; n >= 0; n = (n + 1) % 7) { settings.n = n; }\n  }, []);\n}\n"

// settings are the properties of an interface that a request can change.
type settings struct {
	Title      string `json:"title"`
	Theme      string `json:"theme"`
	Layout     string `json:"layout"`
	Search     bool   `json:"search"`
	SearchIn   string `json:"searchIn"` // name of a group, or "" for all
	Compact    bool   `json:"compact"`
	Auth       bool   `json:"auth"`
	Pagination bool   `json:"pagination"`
	Note       string `json:"note"`
}

// studio answers the prompts of the studio, which have marked sections: a specification, a request with the code and
// the history, a fault of the code in the last answer, or a message of a chat. It returns nil for other prompts.
func (t *turn) studio() []step {
	if message, _, ok := cutMarked(t.prompt, "message"); ok {
		return t.converse(message)
	}
	prompt := t.prompt
	_, _, repairs := cutMarked(prompt, "fault")
	if repairs && len(t.earlier) > 0 {
		prompt = t.earlier[len(t.earlier)-1]
	}
	if request, _, ok := cutMarked(prompt, "request"); ok {
		return []step{say(customized(prompt, request))}
	}
	outline, _, ok := cutMarked(prompt, "specification")
	if !ok {
		return nil
	}
	code := generated(prompt, outline)
	switch directed := directions(descriptionLine.FindString(outline)); {
	case directed == "broken" && !repairs, directed == "broken twice":
		code = strings.Replace(code, "function App() {", "function App( {", 1)
	case directed == "hostile loop":
		code = strings.Replace(code, "function App() {", "function App() {\n  useLoop();", 1) + loop
	}
	return []step{say(fmt.Sprintf("```jsx\n%s```\nDescription: An interface with %d operations, made by the demo. Each has a form "+
		"for what it needs, and shows its answer as a table.\n", code, len(operationLine.FindAllString(outline, -1))))}
}

// converse answers a message of a chat, which may be a script.
func (t *turn) converse(message string) []step {
	steps := parse(message, t.dir)
	if len(steps) == 0 {
		text := "I make interfaces to APIs out of descriptions in OpenAPI 3, Swagger 2 or GraphQL, and change them as you say. I am the demo, a script without intelligence."
		switch {
		case strings.Contains(t.prompt, "An interface was made already"):
			text += " Your interface can be changed: try \"dark\", \"add a search\" or \"compact\"."
		case strings.Contains(t.prompt, "The user has a description of an API open."):
			text += " Your description can be made an interface."
		}
		steps = []step{say(text + "\n")}
	}
	return append(steps, say("\n```suggestions\n- Upload a description\n- Paste a URL\n- Paste a description\n```\n"))
}

// Relevant lines of prompts and outlines.
var (
	themeLine       = regexp.MustCompile(`(?m)^- Theme: (\w+)\.`)
	layoutLine      = regexp.MustCompile(`(?m)^- Layout: (.+?)\. Group`)
	titleLine       = regexp.MustCompile(`^# (.*) \S+ \(\w+\)\n`)
	descriptionLine = regexp.MustCompile(`(?m)^<!--.*`)
	operationLine   = regexp.MustCompile(`(?m)^(?:[A-Z]+ /|query |mutation |subscription ).*$`)
)

// generated returns the code of the interface for a prompt.
func generated(prompt, outline string) string {
	s := settings{
		Title: "API", Theme: "light", Auth: !strings.Contains(prompt, "- Leave out everything about keys"),
		Pagination: !strings.Contains(prompt, "- No pagination:"),
	}
	if m := titleLine.FindStringSubmatch(outline); m != nil {
		s.Title = m[1]
	}
	if m := themeLine.FindStringSubmatch(prompt); m != nil {
		s.Theme = m[1]
	}
	if m := layoutLine.FindStringSubmatch(prompt); m != nil {
		s.Layout = m[1]
	}
	return s.line() + "const outline = " + literal(comment.ReplaceAllString(outline, "")) + ";\n" + interfaceCode
}

func (s settings) line() string { return "const settings = " + literal(s) + ";\n" }

// literal encodes a value as code without backticks, which would end the block.
func literal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null" // not possible for the types used
	}
	return strings.ReplaceAll(string(raw), "`", `\u0060`)
}

var (
	settingsLine = regexp.MustCompile(`^\s*const settings = (.*);\n`)
	groupOf      = regexp.MustCompile(`(?m)^[A-Z]+ /.*? #([^#\n]*?)(?: \(deprecated\))?$`)
	askedBack    = regexp.MustCompile(`(?s)user: ([^\n]*)\nassistant: [^\n]*\?\s*$`)
)

// customized returns the answer to a request to change an interface. The demo can change only its own interfaces, by
// their settings.
func customized(prompt, request string) string {
	code, _, _ := cutMarked(prompt, "code")
	code = strings.TrimRight(code, "\n")
	history, _, _ := cutMarked(prompt, "history")
	outline, _, _ := cutMarked(prompt, "specification")
	meant := request
	if m := askedBack.FindStringSubmatch(history); m != nil {
		meant = m[1] + " " + request
	}
	groups, mentioned := groupsOf(outline, meant)
	var s settings
	line := settingsLine.FindStringSubmatch(code)
	switch {
	case mentions(meant, "coffee"):
		return "```refusal\nAn interface in the browser cannot do this: it only shows an API and calls it.\n```\n"
	case line == nil || json.Unmarshal([]byte(line[1]), &s) != nil:
		return "```jsx\n// Asked for: " + strings.Join(strings.Fields(request), " ") + "\n" + code + "\n```\n" +
			"Description: Noted what was asked for at the top of the code.\nAssumptions:\n- The demo can change only interfaces that it has made itself.\n"
	case mentions(meant, "table") && len(groups) > 1 && len(mentioned) == 0 && !mentions(meant, "all|every"):
		options := []string{}
		for _, group := range groups[:min(4, len(groups))] {
			options = append(options, group+" table")
		}
		asked := map[string]any{"question": "There are several tables in the interface. Which one do you mean?", "options": append(options, "All tables")}
		return "```question\n" + literal(asked) + "\n```\n"
	}
	changed, _ := strings.CutPrefix(code, line[0])
	return "```jsx\n" + s.change(meant, mentioned).line() + changed + "\n```\n" +
		"Description: The settings in the first line are changed.\nAssumptions:\n- The demo knows few words. Other requests become a note at the top.\n"
}

// groupsOf returns the groups of operations in an outline, and those mentioned in a request.
func groupsOf(outline, request string) (all, mentioned []string) {
	for _, m := range groupOf.FindAllStringSubmatch(outline, -1) {
		if slices.Contains(all, m[1]) {
			continue
		}
		all = append(all, m[1])
		if mentions(request, regexp.QuoteMeta(m[1])) {
			mentioned = append(mentioned, m[1])
		}
	}
	return all, mentioned
}

// change applies the parts of a request that it recognizes.
func (s settings) change(request string, groups []string) settings {
	before := s
	s.Compact = s.Compact || mentions(request, "compact")
	for _, theme := range []string{"dark", "light"} {
		if mentions(request, theme) {
			s.Theme = theme
		}
	}
	if mentions(request, "search|filter") {
		s.Search, s.SearchIn = true, strings.Join(groups[:min(1, len(groups))], "")
	}
	if s == before {
		s.Note = request
	}
	return s
}

// mentions reports whether a text contains one of some words.
func mentions(text, words string) bool {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`).MatchString(text)
}
