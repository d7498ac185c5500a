package sdk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
)

// program creates a file, executable or not.
func program(t *testing.T, mode os.FileMode, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func TestCLIIsSearchedInOrder(t *testing.T) {
	dir := t.TempDir()
	configured := program(t, 0o700, dir, "a", "copilot")
	environment := program(t, 0o700, dir, "b", "copilot")
	beside := program(t, 0o700, dir, "c", "copilot")
	installed := program(t, 0o700, release.Path(filepath.Join(dir, "data")))
	onPath := program(t, 0o700, dir, "d", "copilot")
	t.Setenv("PATH", filepath.Dir(onPath))
	for name, tc := range map[string]struct {
		locate sdk.Locate
		want   string
	}{
		"first the configured one":            {sdk.Locate{Configured: configured, Environment: environment, Beside: filepath.Dir(beside)}, configured},
		"then the one of the variable":        {sdk.Locate{Environment: environment, Beside: filepath.Dir(beside)}, environment},
		"then the one beside the portal":      {sdk.Locate{Beside: filepath.Dir(beside), DataDir: filepath.Join(dir, "data")}, beside},
		"then the one that setup installed":   {sdk.Locate{Beside: filepath.Dir(dir), DataDir: filepath.Join(dir, "data")}, installed},
		"then the one on PATH":                {sdk.Locate{Beside: filepath.Dir(dir), DataDir: dir}, onPath},
		"the one on PATH without a directory": {sdk.Locate{}, onPath},
		"a bare name is searched on PATH":     {sdk.Locate{Configured: "copilot"}, onPath},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.locate.Find()
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestSignInUsesTheFoundCLI(t *testing.T) {
	dir := t.TempDir()
	onPath, other := program(t, 0o700, dir, "bin", "copilot"), program(t, 0o700, dir, "other", "copilot")
	spaced := program(t, 0o700, dir, "my programs", "copilot")
	t.Setenv("PATH", filepath.Dir(onPath))
	assert.Equal(t, "copilot login", sdk.Locate{}.LoginCommand())
	assert.Equal(t, "copilot login", sdk.Locate{Configured: onPath}.LoginCommand())
	assert.Equal(t, other+" login", sdk.Locate{Configured: other}.LoginCommand())
	assert.Equal(t, `"`+spaced+`" login`, sdk.Locate{Configured: spaced}.LoginCommand())
	t.Setenv("PATH", "")
	assert.Equal(t, onPath+" login", sdk.Locate{Beside: filepath.Dir(onPath)}.LoginCommand())
}

func TestConfiguredCLIHasNoFallback(t *testing.T) {
	dir := t.TempDir()
	there := program(t, 0o700, dir, "d", "copilot")
	t.Setenv("PATH", filepath.Dir(there))
	t.Chdir(dir)
	for name, tc := range map[string]struct {
		locate sdk.Locate
		want   string
	}{
		"the configured one is missing":        {sdk.Locate{Configured: "/nowhere/copilot", Environment: there}, "--copilot-path or copilot_path names /nowhere/copilot: no such file or directory"},
		"the one of the variable is missing":   {sdk.Locate{Environment: "/nowhere/copilot", Beside: filepath.Dir(there)}, "COPILOT_CLI_PATH names /nowhere/copilot: no such file or directory"},
		"the configured one is not on PATH":    {sdk.Locate{Configured: "copilot-x"}, "--copilot-path or copilot_path names copilot-x: executable file not found in $PATH"},
		"the configured one is not executable": {sdk.Locate{Configured: program(t, 0o600, dir, "plain")}, "--copilot-path or copilot_path names " + dir + "/plain: permission denied"},
		"the configured one is a directory":    {sdk.Locate{Configured: dir}, "--copilot-path or copilot_path names " + dir + ": is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.locate.Find()
			assert.EqualError(t, err, tc.want)
		})
	}
	t.Run("a relative path is relative to the portal's working directory", func(t *testing.T) {
		got, err := sdk.Locate{Configured: "./d/copilot"}.Find()
		require.NoError(t, err)
		assert.Equal(t, "./d/copilot", got)
	})
}

func TestSearchedPathsAreReported(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := sdk.Locate{Beside: "/opt/portal/bin"}.Find()
	require.EqualError(t, err, "it is neither in /opt/portal/bin nor on PATH")
	_, err = sdk.Locate{}.Find()
	require.EqualError(t, err, "it is not on PATH")
}

func TestExecutableIsFoundThroughNpmLoader(t *testing.T) {
	native := "copilot-" + release.Platform()
	for name, parts := range map[string][]string{
		"beside the package, as npm puts it":        {"lib", "node_modules", "@github", native, "copilot"},
		"below the package, where npm cannot hoist": {"lib", "node_modules", "@github", "copilot", "node_modules", "@github", native, "copilot"},
		"on a system with musl":                     {"lib", "node_modules", "@github", "copilot-" + musl(release.Platform()), "copilot"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			loader := program(t, 0o700, dir, "lib", "node_modules", "@github", "copilot", "npm-loader.js")
			link := filepath.Join(dir, "bin", "copilot")
			require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
			require.NoError(t, os.Symlink("../lib/node_modules/@github/copilot/npm-loader.js", link))
			t.Setenv("PATH", filepath.Dir(link))

			got, err := sdk.Locate{}.Find()
			require.NoError(t, err)
			assert.Equal(t, link, got, "without it, the loader is used")

			executable := program(t, 0o700, append([]string{dir}, parts...)...)
			for _, l := range []sdk.Locate{{}, {Configured: link}, {Environment: loader}, {Beside: filepath.Dir(link)}} {
				got, err := l.Find()
				require.NoError(t, err)
				assert.Equal(t, executable, got)
			}
		})
	}
}

// On Windows, npm puts a command file on PATH; killing it would leave the CLI running.
func TestExecutableIsFoundThroughNpmCommandFile(t *testing.T) {
	for name, modules := range map[string]string{"of global packages": "npm/node_modules", "of a project": "node_modules"} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			shim := program(t, 0o700, dir, map[string]string{"npm/node_modules": "npm", "node_modules": "node_modules/.bin"}[modules], "copilot.cmd")
			find := func() string {
				got, err := sdk.Locate{Configured: shim}.Find()
				require.NoError(t, err)
				return got
			}
			assert.Equal(t, shim, find())
			program(t, 0o600, dir, modules, "@github", "copilot", "npm-loader.js")
			assert.Equal(t, shim, find(), "without the executable, it is used")
			assert.Equal(t, program(t, 0o700, dir, modules, "@github", "copilot-"+release.Platform(), "copilot"), find())
		})
	}
}

func musl(platform string) string { return strings.Replace(platform, "linux-", "linuxmusl-", 1) }
