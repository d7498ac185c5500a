package server_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestSpecificationStatesMessageLimits(t *testing.T) {
	for file, text := range map[string]string{
		"rpc.md": fmt.Sprintf("A message of more than %d MiB", rpc.MaxMessage>>20),
		"mcp.md": fmt.Sprintf("A message may have %d MiB", mcp.MaxMessage>>20),
		"ui.md":  fmt.Sprintf("Lines and frames may have %d MiB", ui.MaxMessage>>20),
	} {
		spec, err := os.ReadFile("../spec/" + file)
		require.NoError(t, err)
		assert.Contains(t, string(spec), text, file)
	}
}

// The tables of attacks name tests. One that was renamed or removed would leave an attack without a proof.
func TestEachAttackHasATest(t *testing.T) {
	text, err := os.ReadFile("../spec/reliability.md")
	require.NoError(t, err)
	_, security, found := strings.Cut(string(text), "\n## Security\n")
	require.True(t, found)
	security, _, _ = strings.Cut(security, "\n## ")
	exist, attacks := testsOfRepository(t), 0
	for line := range strings.Lines(security) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		attacks++
		require.Len(t, cells, 3, "%s", line)
		for _, cell := range cells[:2] {
			assert.Regexp(t, `[.]$`, strings.TrimSpace(cell), "a sentence: %s", line)
		}
		names := testName.FindAllStringSubmatch(cells[2], -1)
		assert.NotEmpty(t, names, "no test: %s", line)
		for _, name := range names {
			assert.True(t, exist[name[1]], "%s does not exist: %s", name[1], line)
		}
	}
	assert.Greater(t, attacks, 60)
	assert.False(t, exist["TestThatDoesNotExist"])
}

var (
	testName     = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testFunction = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// testsOfRepository returns the names of all tests in Go.
func testsOfRepository(t *testing.T) map[string]bool {
	t.Helper()
	exist := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "vendor" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range testFunction.FindAllStringSubmatch(string(text), -1) {
			exist[name[1]] = true
		}
		return err
	}))
	return exist
}
