package server_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The time of a comparison with == tells how many first bytes are right. Measuring it would depend on the machine, so this test reads
// the code: where clients are authenticated, a secret may be compared only with nothing.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	constant := 0
	for _, pattern := range []string{"*.go", "../handlers/ws/*.go", "../copilot/share/*.go", "../copilot/demo/*.go"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files := gotoken.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				for _, found := range secretComparisons(n) {
					assert.Fail(t, "a secret is compared with an operator", "%s: %s", files.Position(n.Pos()), found)
				}
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "ConstantTimeCompare" {
					constant++
				}
				return true
			})
		}
	}
	assert.GreaterOrEqual(t, constant, 4, "control: the guard, operations, links and the scripted model compare secrets")
}

func TestComparisonsOfSecretsAreFound(t *testing.T) {
	for code, want := range map[string]bool{
		`given == c.Token`: true, `token != r.Header.Get("X")`: true, `x.Hash == y`: true, `s.cookieValue() == c.Value`: true, `bytes.Equal(a.hash, b)`: true, `string(x.Hash) == string(y)`: true, `bytes.Equal([]byte(token), b[:])`: true, `bytes.Equal(hash[:], b)`: true,
		`strings.EqualFold(a, s.Token())`: true, `c.Token == ""`: false, `"" != token`: false, `token == nil`: false, `name == value`: false, `equal(a, token)`: false,
	} {
		expression, err := parser.ParseExpr(code)
		require.NoError(t, err)
		assert.Equal(t, want, len(secretComparisons(expression)) > 0, code)
	}
}

// secretComparisons returns the secrets that a node compares with something else than nothing.
func secretComparisons(n ast.Node) []string {
	var operands []ast.Expr
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == gotoken.EQL || n.Op == gotoken.NEQ {
			operands = []ast.Expr{n.X, n.Y}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Equal", "EqualFold", "Compare"}, f.Sel.Name) {
			operands = n.Args
		}
	}
	if slices.ContainsFunc(operands, isNothing) {
		return nil
	}
	var found []string
	for _, x := range operands {
		if name := lastName(x); secretName.MatchString(name) {
			found = append(found, name)
		}
	}
	return found
}

var secretName = regexp.MustCompile(`(?i)^(token|given|guess|hash|secret|password|api_?key|cookieValue|generatedToken)$`)

func isNothing(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Value == `""`
	case *ast.Ident:
		return x.Name == "nil"
	}
	return false
}

// lastName returns the name of a variable, a field, or a called function, also in a conversion.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.SliceExpr:
		return lastName(x.X)
	case *ast.CallExpr:
		if name := lastName(x.Fun); len(x.Args) != 1 || name != "string" && name != "" {
			return name
		}
		return lastName(x.Args[0])
	}
	return ""
}
