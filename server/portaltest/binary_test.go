package portaltest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestOutdatedBinaryIsRefused(t *testing.T) {
	const program = "bin/portal"
	built := time.Now().Add(-time.Hour)
	for name, tt := range map[string]struct {
		file    string
		changed time.Duration // after the binary was built
		want    string
	}{
		"an older source":       {"main.go", -time.Minute, ""},
		"a newer source":        {"main.go", time.Minute, "bin/portal is older than main.go: run make build (make test does it)"},
		"a source of a package": {"jobs/book/load.go", time.Minute, "bin/portal is older than jobs/book/load.go: run make build (make test does it)"},
		"a module of the page":  {"assets/views/side.js", time.Minute, "bin/portal is older than assets/views/side.js: run make build (make test does it)"},
		"a test":                {"jobs/book/load_test.go", time.Minute, ""},
		"a package for tests":   {"server/portaltest/portal.go", time.Minute, ""},
		"a document":            {"spec/book.md", time.Minute, ""},
		"a tool":                {".tools/lint/main.go", time.Minute, ""},
		"test data":             {"jobs/testdata/main.go", time.Minute, ""},
		"an npm package":        {"assets/node_modules/x/x.js", time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, changed := range map[string]time.Time{program: built, tt.file: built.Add(tt.changed)} {
				path := filepath.Join(root, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, nil, 0o600))
				require.NoError(t, os.Chtimes(path, changed, changed))
			}
			path, err := portaltest.BinaryIn(root)
			if tt.want != "" {
				require.EqualError(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(root, program), path)
		})
	}
	_, err := portaltest.BinaryIn(t.TempDir())
	require.EqualError(t, err, "bin/portal is missing: run make build (make test does it)")
}
