package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func spec(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../spec/" + name)
	require.NoError(t, err)
	return path
}

// row is a row of a table in spec/ui.md or spec/page.md.
type row struct {
	kind  string   // the heading of its first column
	names []string // of methods, notifications and types of events
	cells []string // the other columns
}

var (
	code   = regexp.MustCompile("`([^`]+)`")
	aside  = regexp.MustCompile(`\([^()]*\)`)
	remark = regexp.MustCompile("`:|;") // the text after it does not list members
	nested = regexp.MustCompile(`[[{][^][{}]*[]}]`)
	name   = regexp.MustCompile(`^\s*([a-z_]+)(\??)\s*(:.*)?$`)
	notify = regexp.MustCompile("`(portal\\.[a-z.]+) ({[^`]*})`") // a notification that follows a result
)

// rows returns the rows of all tables of a file.
func rows(t *testing.T, file string) (list []row) {
	t.Helper()
	text, err := os.ReadFile(spec(t, file))
	require.NoError(t, err)
	kind := ""
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			kind = ""
		case kind == "":
			kind = strings.TrimSpace(cells[0])
		case !strings.HasPrefix(line, "|--"):
			r := row{kind: kind, cells: cells[1:]}
			for _, found := range code.FindAllStringSubmatch(cells[0], -1) {
				r.names = append(r.names, found[1])
			}
			list = append(list, r)
		}
	}
	return list
}

// members returns the members that a cell names, with true for optional ones.
func members(cell string) map[string]bool {
	found := map[string]bool{}
	cell = aside.ReplaceAllString(cell, "")
	if at := remark.FindStringIndex(cell); at != nil {
		cell = cell[:at[0]+1]
	}
	for _, span := range code.FindAllStringSubmatch(cell, -1) {
		text := span[1]
		if strings.HasPrefix(text, "{") {
			text = strings.TrimSuffix(text[1:], "}")
		}
		for nested.MatchString(text) {
			text = nested.ReplaceAllString(text, "")
		}
		for _, part := range strings.Split(text, ",") {
			if m := name.FindStringSubmatch(part); m != nil {
				found[m[1]] = m[2] == "?"
			}
		}
	}
	return found
}

// definition is the part of a definition in the schema that the test uses.
type definition struct {
	Ref        string `json:"$ref"`
	Required   []string
	Properties map[string]json.RawMessage
	OneOf      []definition
}

type definitions map[string]definition

func readDefinitions(t *testing.T) definitions {
	t.Helper()
	text, err := os.ReadFile(spec(t, "ui.schema.json"))
	require.NoError(t, err)
	var document struct {
		Defs definitions `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &document))
	return document.Defs
}

// describe checks that definitions with these names exist and together have the members that a cell names.
func (d definitions) describe(t *testing.T, names []string, cell string) {
	t.Helper()
	var all []definition
	for _, name := range names {
		def, there := d[name]
		assert.True(t, there, "%s is missing", name)
		if ref, ok := strings.CutPrefix(def.Ref, "#/$defs/"); ok {
			def = d[ref]
		}
		all = append(append(all, def), def.OneOf...)
	}
	for member, optional := range members(cell) {
		has := slices.ContainsFunc(all, func(d definition) bool { _, there := d.Properties[member]; return there })
		assert.True(t, has, "%v: %s is missing", names, member)
		if len(all) == 1 {
			assert.Equal(t, optional, !slices.Contains(all[0].Required, member), "%v: whether %s is optional", names, member)
		}
	}
}

// The schema of a whole message must apply the definition of its method.
func TestSchemaAppliesEveryDefinitionOfParams(t *testing.T) {
	text, err := os.ReadFile(spec(t, "ui.schema.json"))
	require.NoError(t, err)
	for name := range readDefinitions(t) {
		if method, ok := strings.CutSuffix(name, ".params"); ok {
			applied := strings.Contains(string(text), `{"const": "`+method+`"}`) && strings.Contains(string(text), `{"$ref": "#/$defs/`+name+`"}`)
			assert.True(t, applied, name)
		}
	}
}

func TestSchemaMatchesTheTables(t *testing.T) {
	defs, listed := readDefinitions(t), map[string]bool{}
	check := func(r row, prefix, suffix string, cell int) {
		var names []string
		for _, name := range r.names {
			names = append(names, prefix+name+suffix)
			listed[prefix+name+suffix] = true
		}
		defs.describe(t, names, r.cells[cell])
	}
	for _, r := range rows(t, "ui.md") {
		switch r.kind {
		case "method", "request":
			check(r, "", ".params", 0)
			check(r, "", ".result", 1)
		case "notification":
			check(r, "", ".params", 0)
		case "type":
			check(r, "agent.event.", "", 0)
		}
	}
	assert.Greater(t, len(listed), 50, "tables of ui.md")
	ours := len(listed)
	for _, r := range rows(t, "page.md") {
		if r.kind != "method" || listed[r.names[0]+".params"] { // a use of a method of ui.md
			continue
		}
		check(r, "", ".params", 0)
		check(r, "", ".result", 1)
		for _, found := range notify.FindAllStringSubmatch(r.cells[1], -1) {
			check(row{names: found[1:2], cells: []string{"`" + found[2] + "`"}}, "", ".params", 0)
		}
	}
	assert.Greater(t, len(listed), ours+20, "table of methods in page.md")
	of := regexp.MustCompile(`\.(params|result)$|^agent\.event\.`)
	for name := range defs {
		assert.Equal(t, of.MatchString(name), listed[name], "whether %s is in the tables", name)
	}
}
