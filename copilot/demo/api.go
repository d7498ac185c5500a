package demo

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// An api is what the demo takes out of the outline of a description.
type api struct {
	Title       string      `json:"title"`
	Description string      `json:"description"`
	BaseURL     string      `json:"baseUrl"`
	GraphQL     bool        `json:"graphql"`
	Auth        []scheme    `json:"auth"`
	Operations  []operation `json:"operations"`

	models map[string]string
}

// A scheme is a way to sign in.
type scheme struct {
	Name  string   `json:"name"`
	Words []string `json:"words"` // its type, then what it consists of
}

// An operation is an endpoint, or a field of GraphQL.
type operation struct {
	Method     string  `json:"method"` // or query, mutation, subscription
	Path       string  `json:"path"`   // or the name
	Title      string  `json:"title"`
	Group      string  `json:"group"`
	BaseURL    string  `json:"baseUrl,omitempty"`
	Deprecated bool    `json:"deprecated,omitempty"`
	Params     []param `json:"params"`
	Body       string  `json:"body,omitempty"`     // an example of it, or the type of what is no JSON; "" if Params have its properties
	Kind       string  `json:"kind,omitempty"`     // media type of the body
	Document   string  `json:"document,omitempty"` // of GraphQL
}

// A param is a parameter or argument.
type param struct {
	Name     string   `json:"name"`
	In       string   `json:"in"` // path, query, header, cookie, body (a property of it) or arg
	Required bool     `json:"required,omitempty"`
	Type     string   `json:"type"`
	Choices  []string `json:"choices,omitempty"`
}

// readAPI reads an outline.
func readAPI(outline string) api {
	a := api{Title: "API", Auth: []scheme{}, Operations: []operation{}, models: map[string]string{}}
	head, rest, _ := strings.Cut(outline, "\n## Operations\n")
	operations, models, _ := strings.Cut(rest, "\n## Models\n")
	for line := range strings.Lines(models) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			a.models[strings.TrimSuffix(name, "!")], _, _ = strings.Cut(kind, " // ")
		}
	}
	a.readHead(head)
	for line := range strings.Lines(operations) {
		a.readLine(strings.TrimRight(line, "\n"))
	}
	return a
}

func (a *api) readHead(head string) {
	m := regexp.MustCompile(`^# (.*) \S+ \((\w+)\)`).FindStringSubmatch(head)
	if m == nil {
		return
	}
	a.Title, a.GraphQL = m[1], m[2] == "graphql"
	_, lines, _ := strings.Cut(head, "\n")
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if url, ok := strings.CutPrefix(line, "base URL: "); ok {
			a.BaseURL = url
		} else if scheme, ok := strings.CutPrefix(line, "auth "); ok {
			a.readScheme(scheme)
		} else if !strings.HasPrefix(line, "tag ") {
			a.Description = cmp.Or(a.Description, line)
		}
	}
}

func (a *api) readScheme(line string) {
	name, words, _ := strings.Cut(line, ": ")
	a.Auth = append(a.Auth, scheme{name, strings.Fields(words)})
}

// readLine reads a line about operations. Those of an endpoint are indented.
func (a *api) readLine(line string) {
	detail, indented := strings.CutPrefix(line, "  ")
	switch first, _, _ := strings.Cut(line, " "); {
	case indented && len(a.Operations) > 0:
		a.Operations[len(a.Operations)-1].detail(a, detail)
	case first == "query" || first == "mutation" || first == "subscription":
		a.readField(line)
	case strings.Contains(line, " /"):
		a.readEndpoint(line)
	}
}

func (a *api) readEndpoint(line string) {
	var o operation
	line, o.Deprecated = strings.CutSuffix(line, " (deprecated)")
	if at := strings.LastIndex(line, " #"); at >= 0 {
		line, o.Group = line[:at], line[at+2:]
	}
	head, title, _ := strings.Cut(line, " — ")
	o.Method, o.Path, _ = strings.Cut(head, " ")
	o.Path, _, _ = strings.Cut(o.Path, " ") // a number tells operations apart that are the same
	o.Title, o.Params = cmp.Or(title, head), []param{}
	o.Group = cmp.Or(o.Group, strings.SplitN(o.Path, "/", 3)[1], "other")
	a.Operations = append(a.Operations, o)
}

// detail reads a line about an endpoint; what is not known is a description.
func (o *operation) detail(a *api, line string) {
	line, _, _ = strings.Cut(line, " // ")
	head, kind, _ := strings.Cut(line, ": ")
	where, name, _ := strings.Cut(strings.TrimSuffix(head, "!"), " ")
	required := strings.HasSuffix(head, "!")
	switch {
	case head == "base URL":
		o.BaseURL = kind
	case where == "body" && name == "":
		media, shape, _ := strings.Cut(kind, " ")
		if !strings.Contains(media, "/") {
			media, shape = "application/json", kind
		}
		o.Kind, o.Body = media, shape
		if strings.Contains(media, "json") {
			o.Body = a.example(shape, 0)
		}
		if fields := a.fields(shape, required); len(fields) > 0 && strings.Contains(media, "json") {
			o.Params, o.Body = append(o.Params, fields...), ""
		}
	case slices.Contains([]string{"path", "query", "header", "cookie"}, where) && name != "" && !strings.Contains(name, " "):
		o.Params = append(o.Params, param{name, where, required, kind, choices(kind)})
	}
}

// fields are the properties of a body, as far as they can be sent; none if it is no object. They are required only if the body is.
func (a *api) fields(shape string, required bool) (list []param) {
	if model := a.models[shape]; model != "" {
		shape = model
	}
	if !strings.HasPrefix(shape, "{") {
		return nil
	}
	for _, m := range members(shape) {
		name, must := strings.CutSuffix(m[0], "!")
		if name != "…" && !strings.HasSuffix(m[1], " read-only") {
			list = append(list, param{name, "body", must && required, m[1], choices(m[1])})
		}
	}
	return list
}

func choices(kind string) []string {
	kind, _, _ = strings.Cut(kind, " = ")
	words := strings.Fields(kind)
	if len(words) == 0 || !strings.Contains(words[len(words)-1], "|") || strings.ContainsAny(kind, "{[(") {
		return nil
	}
	return strings.Split(words[len(words)-1], "|")
}

// groups are the names of the groups, in their order.
func (a api) groups() (list []string) {
	for _, o := range a.Operations {
		if !slices.Contains(list, o.Group) {
			list = append(list, o.Group)
		}
	}
	return list
}

// members are the parts of {a!: x, b: y}: pairs of name and type.
func members(shape string) (list [][2]string) {
	open, end := strings.IndexByte(shape, '{'), strings.LastIndexByte(shape, '}')
	if open < 0 || end < open {
		return nil
	}
	for _, member := range splitTop(shape[open+1 : end]) {
		if name, kind, ok := cutTop(member); ok {
			list = append(list, [2]string{name, kind})
		}
	}
	return list
}

// splitTop splits a list at the commas that stand in no brackets.
func splitTop(s string) (parts []string) {
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(s[from:]))
}

// cutTop cuts a member at the colon that stands in no brackets.
func cutTop(s string) (name, kind string, ok bool) {
	depth := 0
	for i, r := range s {
		switch r {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ':':
			if depth == 0 {
				return s[:i], strings.TrimSpace(s[i+1:]), true
			}
		}
	}
	return "", "", false
}

// example is a value of a type, as JSON.
func (a *api) example(shape string, depth int) string {
	const deepest = 5
	first, _, _ := strings.Cut(shape, " ")
	switch {
	case strings.HasPrefix(shape, "["):
		return "[]"
	case depth > deepest:
		return "null"
	case strings.Contains(shape, "{"):
		var parts []string
		for _, m := range members(shape) {
			if !strings.HasSuffix(m[1], " read-only") && m[0] != "…" {
				parts = append(parts, quoteJSON(strings.TrimSuffix(m[0], "!"))+": "+a.example(m[1], depth+1))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case plainExample(first) != "":
		return plainExample(first)
	case a.models[first] != "" && a.models[first] != shape:
		return a.example(a.models[first], depth+1)
	}
	if c := choices(shape); c != nil {
		return quoteJSON(c[0])
	}
	return `""`
}

// plainExample is a value of a type that has no parts; "" if it is none that is known.
func plainExample(kind string) string {
	return map[string]string{"integer": "0", "number": "0", "boolean": "false", "object": "{}", "Int": "0", "Float": "0", "Boolean": "false"}[kind]
}
