// Package handlers_test holds what is true of all dialects.
package handlers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source is functions of a file that translate events.
type source struct {
	file      string
	functions []string
}

// TestEveryDialectEncodesOrIgnoresEveryEvent looks for the events in the cases of the encoders. One that a dialect has no word for
// stands in a case without a body.
func TestEveryDialectEncodesOrIgnoresEveryEvent(t *testing.T) {
	all := events(t)
	for dialect, sources := range map[string][]source{
		"REST":            {{"rest/callback.go", []string{"encodeText", "encodeAction"}}},
		"JSON-RPC":        {{"rpc/encoder.go", []string{"encodeText", "encodeAction", "encodeState"}}},
		"UI":              {{"ui/run_encoder.go", []string{"encodeText", "encodeState"}}, {"ui/tool_steps.go", []string{"encodeAction", "encodeQuestion"}}},
		"ACP":             {{"acp/encoder.go", []string{"encodeText", "encodeRun", "encodeState"}}, {"acp/tool.go", []string{"encodeWork"}}},
		"MCP":             {{"mcp/progress.go", []string{"progressText"}}},
		"operations":      {{"../jobs/operation/encoder.go", []string{"encodeText", "encodeAction", "encodeState"}}},
		"text of ask":     {{"ask/print.go", []string{"print"}}, {"ask/organize.go", []string{"planEvent"}}},
		"JSON of ask":     {{"ask/json.go", []string{"textLine", "toolLine", "asked", "planLine"}}},
		"Markdown export": {{"../copilot/export/markdown.go", []string{"event"}}, {"../copilot/export/session_events.go", []string{"writeSessionEvent", "writeWorkEvent"}}},
	} {
		t.Run(dialect, func(t *testing.T) {
			var named []string
			for _, s := range sources {
				functions := parse(t, s.file)
				for _, name := range s.functions {
					require.Contains(t, functions, name, s.file)
					named = append(named, cases(functions[name])...)
				}
			}
			missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(named, name) })
			assert.Empty(t, missing, "encode them, or name them in a case that ignores them, in %v", sources)
		})
	}
}

// events are the names of all types of bodies that are recorded: those with the method visit.
func events(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../copilot/event/body_*.go")
	require.NoError(t, err)
	for _, file := range files {
		for _, d := range declarations(t, file) {
			if d.Name.Name != "visit" || d.Type.Results == nil {
				continue
			}
			if name := d.Recv.List[0].Type.(*ast.Ident).Name; name != "Idle" { // it is never recorded
				names = append(names, name)
			}
		}
	}
	return names
}

// parse gives the functions of a file by their names.
func parse(t *testing.T, file string) map[string]*ast.FuncDecl {
	t.Helper()
	functions := map[string]*ast.FuncDecl{}
	for _, d := range declarations(t, file) {
		functions[d.Name.Name] = d
	}
	return functions
}

func declarations(t *testing.T, file string) (functions []*ast.FuncDecl) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if function, ok := d.(*ast.FuncDecl); ok {
			functions = append(functions, function)
		}
	}
	return functions
}

// cases are the types of the package event in the type switches of a function.
func cases(function *ast.FuncDecl) (names []string) {
	ast.Inspect(function, func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSwitchStmt)
		if !ok {
			return true
		}
		for _, clause := range s.Body.List {
			for _, x := range clause.(*ast.CaseClause).List {
				if name, ok := x.(*ast.SelectorExpr); ok && name.X.(*ast.Ident).Name == "event" {
					names = append(names, name.Sel.Name)
				}
			}
		}
		return true
	})
	return names
}
