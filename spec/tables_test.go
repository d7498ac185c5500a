package spec_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// row is a row of a table in a document: its first cell with the names there, and the other cells.
type row struct {
	cell  string // the first one
	names []string
	cells []string
}

var (
	quoted    = regexp.MustCompile("`([^`]+)`")
	parameter = regexp.MustCompile("`(\\w+)(\\??)(?::[^`]*)?`")
	bracketed = regexp.MustCompile(`\([^)]*\)`)
)

// rows returns the rows whose first cell begins with a name.
func rows(t *testing.T, file string) []row {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var list []row
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " |")
		r := row{cell: strings.TrimSpace(cells[0]), cells: cells[1:]}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			r.names = append(r.names, m[1])
		}
		list = append(list, r)
	}
	return list
}

// method describes the parameters of a method: whether each is required.
type method map[string]bool

func openRPC(t *testing.T) map[string]method {
	t.Helper()
	var document struct {
		Methods []struct {
			Name   string
			Params []struct {
				Name     string
				Required bool
			}
		}
	}
	text, err := os.ReadFile("openrpc.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &document))
	methods := map[string]method{}
	for _, m := range document.Methods {
		methods[m.Name] = method{}
		for _, p := range m.Params {
			methods[m.Name][p.Name] = p.Required
		}
	}
	return methods
}

func uiMethods(t *testing.T) map[string]method {
	t.Helper()
	type def struct {
		Ref        string `json:"$ref"`
		Properties map[string]any
		Required   []string
	}
	var document struct {
		Defs map[string]def `json:"$defs"`
	}
	text, err := os.ReadFile("ui.schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &document))
	methods := map[string]method{}
	for name, def := range document.Defs {
		name, isParams := strings.CutSuffix(name, ".params")
		if !isParams {
			continue
		}
		if def.Ref != "" {
			def = document.Defs[strings.TrimPrefix(def.Ref, "#/$defs/")]
		}
		methods[name] = method{}
		for p := range def.Properties {
			methods[name][p] = slices.Contains(def.Required, p)
		}
	}
	return methods
}

func TestTablesOfMethodsFollowTheContracts(t *testing.T) {
	for contract, c := range map[string]struct {
		methods map[string]method
		files   []string
	}{
		"openrpc.json":   {openRPC(t), []string{"rpc.md"}},
		"ui.schema.json": {uiMethods(t), []string{"ui.md", "page.md"}},
	} {
		var text strings.Builder
		for _, file := range c.files {
			part, err := os.ReadFile(file)
			require.NoError(t, err)
			text.Write(part)
			for _, r := range rows(t, file) {
				for _, name := range r.names {
					m, known := c.methods[name]
					if known && len(r.names) == 1 && len(r.cells) > 1 && !strings.Contains(r.cells[0], "as in [") {
						checkParameters(t, file+": "+name, m, r.cells[0])
					}
				}
			}
		}
		for name := range c.methods {
			assert.Contains(t, text.String(), "`"+name, "%s describes it, but %v do not", contract, c.files)
		}
	}
}

// checkParameters compares a cell with the parameters of a method. Those in brackets may belong to another method.
func checkParameters(t *testing.T, what string, m method, cell string) {
	t.Helper()
	optional := map[string]bool{}
	for _, found := range parameter.FindAllStringSubmatch(cell, -1) {
		optional[found[1]] = optional[found[1]] || found[2] == "?"
	}
	hasAlternatives := strings.Contains(cell, " or ") || strings.Contains(cell, "one of")
	for name, required := range m {
		if name == "meta" {
			continue // any request may have it
		}
		isOptional, named := optional[name]
		assert.True(t, named, "%s: the table lacks %q", what, name)
		if named && !hasAlternatives {
			assert.Equal(t, !required, isOptional, "%s: whether %q is optional", what, name)
		}
	}
	for _, found := range parameter.FindAllStringSubmatch(bracketed.ReplaceAllString(cell, ""), -1) {
		assert.Contains(t, m, found[1], "%s: the contract lacks %q", what, found[1])
	}
}

// routes returns what openapi.yaml describes: the names of query parameters by "GET /path/{}".
func routes(t *testing.T) map[string][]string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &document))
	list := map[string][]string{}
	for path, item := range document.Paths {
		for method, operation := range item {
			if operation, ok := operation.(map[string]any); ok && !strings.HasPrefix(path, "/spec/") { // GET /spec lists those
				list[strings.ToUpper(method)+" "+anonymous(path)] = queryOf(operation)
			}
		}
	}
	return list
}

func queryOf(operation map[string]any) []string {
	var names []string
	parameters, _ := operation["parameters"].([]any)
	for _, each := range parameters {
		if p, _ := each.(map[string]any); p["in"] == "query" {
			names = append(names, p["name"].(string))
		}
	}
	return names
}

// anonymous removes the names of parameters from a path.
func anonymous(path string) string { return regexp.MustCompile(`{\w+}`).ReplaceAllString(path, "{}") }

var request = regexp.MustCompile("^(?:`(GET|POST|DELETE)`/)?`?(GET|POST|DELETE) ([^`]+)")

// documented adds the routes in the first cell of a row to list: "`GET`/`POST path`", "`path[/{token}]`", "`POST path/one`, `/two`".
func documented(r row, list map[string][]string) {
	m := request.FindStringSubmatch(r.cell)
	if m == nil {
		return
	}
	target, query, _ := strings.Cut(m[3], "?")
	if !strings.HasPrefix(target, "/") {
		target = "/api/" + target
	}
	path, end, _ := strings.Cut(target, "[")
	paths := []string{path, path + strings.TrimSuffix(end, "]")}
	for _, other := range r.names[1:] {
		if strings.HasPrefix(other, "/") && strings.Contains(r.cell, "`, `/") {
			paths = append(paths, path[:strings.LastIndex(path, "/")]+other)
		}
	}
	for _, path := range paths {
		for _, verb := range m[1:3] {
			if verb != "" {
				list[verb+" "+anonymous(path)] = strings.FieldsFunc(query, func(r rune) bool { return r == '&' })
			}
		}
	}
}

func TestTablesOfRoutesFollowOpenAPI(t *testing.T) {
	contract, tables := routes(t), map[string][]string{}
	for _, file := range []string{"rest.md", "operations.md", "operating.md"} {
		for _, r := range rows(t, file) {
			documented(r, tables)
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(contract)), slices.Collect(maps.Keys(tables)))
	for route, query := range tables {
		for _, pair := range query {
			name, _, _ := strings.Cut(pair, "=")
			assert.Contains(t, contract[route], name, "openapi.yaml: %s", route)
		}
	}
}
