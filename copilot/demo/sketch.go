package demo

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// interfaceCode is the interface that the demo makes of every API.
//
//go:embed interface.jsx
var interfaceCode string

// settings are what a customization changes. They stand in the first line of the code.
type settings struct {
	Title      string   `json:"title"`
	Theme      string   `json:"theme"`
	Layout     string   `json:"layout"`
	Search     bool     `json:"search"`
	SearchIn   string   `json:"searchIn"` // the group; "" for all
	Compact    bool     `json:"compact"`
	Auth       bool     `json:"auth"`
	Pagination bool     `json:"pagination"`
	Only       []string `json:"only"` // the groups that are shown; none: all
	Hidden     []string `json:"hidden"`
	Note       string   `json:"note"`
}

const settingsHead, apiHead = "const settings = ", "const api = "

// sketch writes the interface.
func sketch(s settings, a api) string {
	return s.line() + apiHead + literal(a) + ";\n" + interfaceCode
}

func (s settings) line() string { return settingsHead + literal(s) + ";\n" }

// literal writes a value as code. No mark of a block can stand in it.
func literal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null" // it has no value that could not be written
	}
	return strings.ReplaceAll(string(raw), "`", `\u0060`)
}

func quoteJSON(s string) string { return literal(s) }

// readSettings finds the settings and the API in code of the demo.
func readSettings(code string) (s settings, a api, rest string, ok bool) {
	line, rest, _ := strings.Cut(strings.TrimLeft(code, "\n"), "\n")
	raw, found := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(line), ";"), settingsHead)
	if !found || json.Unmarshal([]byte(raw), &s) != nil {
		return s, a, "", false
	}
	second, _, _ := strings.Cut(rest, "\n")
	raw, _ = strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(second), ";"), apiHead)
	_ = json.Unmarshal([]byte(raw), &a) // without it there are no groups to speak of
	return s, a, rest, true
}
