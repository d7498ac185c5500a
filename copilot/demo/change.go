package demo

import (
	"regexp"
	"slices"
	"strings"
)

// changeOf is what the demo makes of a request to change an interface. It knows its own alone, by their settings.
func changeOf(prompt, request string) writing {
	request = withoutDirections(request)
	meant := request
	if asked, before := lastAsked(marked(prompt, "history")); asked {
		meant = before + " " + request // which was an answer to a question
	}
	code := marked(prompt, "code")
	s, a, rest, known := readSettings(code)
	switch {
	case matches(meant, `coffee|e-?mails?|database|backend|python`):
		return writing{instead: "```refusal\nAn interface in the browser cannot do this: it only shows an API and calls it.\n```\n"}
	case !known:
		return writing{
			code:        "// Asked for: " + strings.Join(strings.Fields(request), " ") + "\n" + strings.TrimSuffix(code, "\n") + "\n",
			description: "Noted what was asked for at the top of the code.",
			assumptions: []string{"The demo can change only interfaces that it has made itself."},
		}
	case isAmbiguous(meant, a):
		return writing{instead: question(a)}
	}
	w := s.change(meant, a)
	w.code = s.line() + strings.TrimRight(rest, "\n") + "\n"
	return w
}

// change does what it recognises.
func (s *settings) change(request string, a api) (w writing) {
	done := func(what, assumption string) {
		w.description = strings.TrimSpace(w.description + " " + what)
		w.assumptions = append(w.assumptions, assumption)
	}
	groups := mentioned(request, a)
	if m := regexp.MustCompile("(?i)(?:title|call it|rename it)[^\"“'‘`]*[\"“'‘`](.+?)[\"”'’`]").FindStringSubmatch(request); m != nil {
		s.Title = m[1]
		done("The title is now "+m[1]+".", "Only the heading changes, not the name of the API.")
	}
	for _, theme := range []string{"dark", "light"} {
		if matches(request, theme) {
			s.Theme = theme
			done("The colours are "+theme+" now.", "The theme holds for the whole interface.")
		}
	}
	if matches(request, `search|filter`) {
		s.Search, s.SearchIn = true, strings.Join(groups[:min(1, len(groups))], "")
		done("A field searches what is shown.", "Filtering is done in the browser, on the data that is loaded.")
	}
	if matches(request, `compact|denser?|smaller`) {
		s.Compact = true
		done("Everything stands closer together.", "Nothing is left out for that.")
	}
	if matches(request, `hide|without|remove`) && len(groups) > 0 {
		s.Hidden = append(s.Hidden, groups...)
		done("Hidden: "+strings.Join(groups, ", ")+".", "The groups are hidden as a whole.")
	}
	if matches(request, `only|just`) && len(groups) > 0 {
		s.Only = groups
		done("Shown: "+strings.Join(groups, ", ")+" only.", "All other groups are hidden.")
	}
	if w.description == "" {
		s.Note = request
		done("A note at the top says what was asked for.", "The demo knows few words, so it keeps the request for a real model.")
	}
	return w
}

func matches(text, words string) bool {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`).MatchString(text)
}

// mentioned are the groups whose names stand in a request.
func mentioned(request string, a api) []string {
	return slices.DeleteFunc(a.groups(), func(group string) bool { return !matches(request, regexp.QuoteMeta(group)) })
}

// isAmbiguous says whether a request is about one of several tables and does not say of which. For tests, the word clarify is enough.
func isAmbiguous(request string, a api) bool {
	several := len(a.groups()) > 1 && len(mentioned(request, a)) == 0
	return matches(request, "clarify") || matches(request, "table") && several && !matches(request, "all|both|every|each")
}

func question(a api) string {
	const most = 4
	options := []string{}
	for _, group := range a.groups()[:min(most, len(a.groups()))] {
		options = append(options, group+" table")
	}
	asked := map[string]any{"question": "There are several tables in the interface. Which one do you mean?", "options": append(options, "All tables")}
	return "```question\n" + literal(asked) + "\n```\n"
}

// lastAsked says whether the last that was said is a question, and what was requested before it.
func lastAsked(history string) (asked bool, request string) {
	for line := range strings.Lines(history) {
		line = strings.TrimSpace(line)
		if said, ok := strings.CutPrefix(line, "user: "); ok {
			asked, request = false, said
		}
		if said, ok := strings.CutPrefix(line, "assistant: "); ok {
			asked = strings.HasSuffix(said, "?")
		}
	}
	return asked, request
}
