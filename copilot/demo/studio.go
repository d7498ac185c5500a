package demo

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// The prompts of the studio carry what they are about between two lines with a code, as those of operations do:
//
//	=== specification 0123456789abcdef begins ===
//	=== specification 0123456789abcdef ends ===
//
// There are specification, request, history, code, fault and message.

// marked is what stands between the marks of a kind; "" if there are none.
func marked(prompt, kind string) string {
	begin := regexp.MustCompile(`(?m)^=== ` + kind + ` ([0-9a-f]{16}) begins ===\n`).FindStringSubmatchIndex(prompt)
	if begin == nil {
		return ""
	}
	text, _, closed := strings.Cut("\n"+prompt[begin[1]:], "\n=== "+kind+" "+prompt[begin[2]:begin[3]]+" ends ===")
	if !closed {
		return ""
	}
	return strings.TrimPrefix(text, "\n")
}

// studio recognises a prompt of the studio and says what to do for it.
func (t *turn) studio() (steps []step, ok bool) {
	if message := marked(t.prompt, "message"); message != "" {
		return t.converse(message), true
	}
	prompt, repairs := t.prompt, marked(t.prompt, "fault") != ""
	if repairs && len(t.earlier) > 0 {
		prompt = t.earlier[len(t.earlier)-1]
	}
	specification, request := marked(prompt, "specification"), marked(prompt, "request")
	switch {
	case request != "":
		return staged(directions(request), repairs, changeOf(prompt, request)), true
	case strings.HasPrefix(prompt, "You write interfaces") || specification != "":
		if specification == "" {
			return []step{say{"I got no description of an API, so there is nothing that I could make an interface to.\n"}}, true
		}
		a := readAPI(specification)
		keywords := directions(a.Description)
		a.Description = withoutDirections(a.Description)
		return staged(keywords, repairs, generated(prompt, a)), true
	}
	return nil, false
}

// converse answers a message of a chat: its keywords are a script, as everywhere.
func (t *turn) converse(message string) []step {
	steps, _ := recognize(message, t.dir)
	if len(steps) == 0 {
		steps = []step{say{introduceStudio(t.prompt)}}
	}
	return append(steps, say{"\n```suggestions\n- Upload a description\n- Paste a URL\n- Paste a description\n```\n"})
}

// introduceStudio is said where a message asks for nothing that is recognised.
func introduceStudio(prompt string) string {
	text := "I make interfaces to APIs out of descriptions in OpenAPI 3, Swagger 2 or GraphQL, and change them as you say. I am the demo, a script without intelligence."
	if strings.Contains(prompt, "An interface was made already") {
		text += " Your interface can be changed: try \"dark\", \"add a search\" or \"compact\"."
	} else if strings.Contains(prompt, "The user has a description of an API open.") {
		text += " Your description can be made an interface."
	}
	return text + "\n"
}

// directions are what a text that begins with <!-- demo: KEYWORDS --> asks for in tests.
func directions(text string) string {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "<!-- demo:")
	keywords, _, closed := strings.Cut(rest, "-->")
	if !found || !closed {
		return ""
	}
	return strings.TrimSpace(keywords)
}

// withoutDirections is a text without them.
func withoutDirections(text string) string {
	if directions(text) == "" {
		return text
	}
	_, text, _ = strings.Cut(text, "-->")
	return strings.TrimSpace(text)
}

// A proposal of code, or what is said in its place.
type writing struct {
	code        string
	description string
	assumptions []string
	instead     string // a question or a refusal
}

// staged are the steps of an answer, with the faults that were asked for.
func staged(keywords string, repairs bool, w writing) []step {
	first := !repairs
	switch {
	case keywords == "broken" && first, keywords == "broken twice":
		w.code, w.instead = strings.Replace(w.code, "function App() {", "function App( {", 1), ""
	case keywords == "eval" && first:
		w.code = strings.Replace(w.code, "function App() {", "function App() {\n  eval('1');", 1)
	case keywords == "import" && first:
		w.code = "import axios from 'axios';\n" + w.code
	case keywords == "no code":
		return []step{say{"I would rather talk about the weather.\n"}}
	case strings.HasPrefix(keywords, "hostile "):
		w.code += hostile(strings.TrimPrefix(keywords, "hostile "))
		w.code = strings.Replace(w.code, "function App() {", "function App() {\n  useHostile();", 1)
	case keywords == "slow":
		middle := strings.Index(w.code, "\nfunction App") + 1
		return []step{listing{"```jsx\n" + w.code[:middle]}, wait{slowness}, listing{w.code[middle:] + "```\n" + w.words()}}
	}
	if w.instead != "" {
		return []step{listing{w.instead}}
	}
	return []step{listing{"```jsx\n" + w.code + "```\n" + w.words()}}
}

// slowness is how long a slow answer stands still.
const slowness = 20 * time.Second

// words are what follows the code.
func (w writing) words() string {
	text := "Description: " + w.description + "\n"
	if len(w.assumptions) > 0 {
		text += "Assumptions:\n- " + strings.Join(w.assumptions, "\n- ") + "\n"
	}
	return text
}

// listing streams a text line by line.
type listing struct{ text string }

func (s listing) run(_ context.Context, _ *turn, a *answer) error {
	for line := range strings.Lines(s.text) {
		for line != "" {
			n := runeSize(line, longestPiece)
			if err := a.say(line[:n]); err != nil {
				return err
			}
			line = line[n:]
		}
	}
	return nil
}

// generated is an interface to an API as a prompt asks for it.
func generated(prompt string, a api) writing {
	s := settings{
		Title: a.Title, Theme: "light", Auth: !strings.Contains(prompt, "- Leave out everything about keys"),
		Pagination: !strings.Contains(prompt, "- No pagination:"),
	}
	if m := regexp.MustCompile(`(?m)^- Theme: (\w+)\.`).FindStringSubmatch(prompt); m != nil {
		s.Theme = m[1]
	}
	if m := regexp.MustCompile(`(?m)^- Layout: (.+?)\. Group`).FindStringSubmatch(prompt); m != nil && m[1] != "as suits the API" {
		s.Layout = m[1]
	}
	return writing{
		code: sketch(s, a),
		description: fmt.Sprintf("An interface to %s with %d operations in %d groups, made by the demo. Each has a form for what it needs, and shows its answer as a table.",
			a.Title, len(a.Operations), len(a.groups())),
	}
}
