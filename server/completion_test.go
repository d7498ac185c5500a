package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// asShell completes words as bash does with the script of portal completion. It imitates the functions of
// bash-completion, which not every machine has.
const asShell = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
_filedir() { COMPREPLY=("files:$1"); }
source "$SCRIPT" || exit 1
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_portal
printf '%s\n' "${COMPREPLY[@]}"
`

func TestBashCompletesCommandsFlagsAndValues(t *testing.T) {
	home := t.TempDir()
	config := "providers:\n  - {name: mine, base_url: 'http://127.0.0.1:1', models: [large, small]}\nmodel: gpt-5\n"
	require.NoError(t, os.MkdirAll(filepath.Join(home, "portal"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "portal", "config.yaml"), []byte(config), 0o600))
	code, script, stderr := command(t, nil, "completion", "bash")
	require.Equal(t, 0, code, stderr)
	file := filepath.Join(home, "script")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	for name, tc := range map[string]struct {
		words []string
		want  []string
	}{
		"commands":                     {[]string{"d"}, []string{"doctor"}},
		"permissions":                  {[]string{"ask", "--permissions", ""}, []string{"allow", "ask", "deny"}},
		"a prefix of permissions":      {[]string{"ask", "--permissions", "d"}, []string{"deny"}},
		"configured models":            {[]string{"ask", "--model", ""}, []string{"gpt-5", "mine/large", "mine/small"}},
		"models with the demo":         {[]string{"ask", "--demo", "--model", ""}, []string{"demo", "gpt-5", "mine/large", "mine/small"}},
		"configuration files":          {[]string{"--config", "o"}, []string{"files:yaml|yml|json|toml|"}},
		"directories":                  {[]string{"ask", "--cwd", "po"}, []string{"files:-d"}},
		"modes":                        {[]string{"ask", "--mode", ""}, []string{"interactive", "plan", "autopilot"}},
		"a prefix of modes":            {[]string{"ask", "--mode", "p"}, []string{"plan"}},
		"flags":                        {[]string{"doctor", "--js"}, []string{"--json"}},
		"flags of stdio":               {[]string{"stdio", "--at"}, []string{"--attach"}},
		"no completions for addresses": {[]string{"stdio", "--attach", ""}, []string{}},
		"jobs":                         {[]string{"jobs", "run", ""}, []string{"implement", "refine", "review", "understand"}},
		"a prefix of jobs":             {[]string{"jobs", "run", "re"}, []string{"refine", "review"}},
		"directories of jobs":          {[]string{"jobs", "run", "understand", "--directory", "po"}, []string{"files:-d"}},
		"job books":                    {[]string{"jobs", "check", "--jobs", "o"}, []string{"files:yaml|yml|json|"}},
		"shells":                       {[]string{"completion", "f"}, []string{"fish"}},
		"no files for a command without file arguments": {[]string{"models", "o"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command("bash", append([]string{"--norc", "-c", asShell, "bash", "portal"}, tc.words...)...)
			c.Dir = home
			c.Env = []string{"PATH=" + filepath.Dir(portaltest.Binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "SCRIPT=" + file}
			out, err := c.Output()
			require.NoError(t, err, "%s", out)
			got := []string{}
			for line := range strings.Lines(string(out)) {
				if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" { // a description follows
					got = append(got, word)
				}
			}
			assert.ElementsMatch(t, tc.want, got)
		})
	}
}

func TestShellCompletesFiles(t *testing.T) {
	for _, words := range [][]string{{"ask", "--attach"}, {"ask", "--copilot-path"}} {
		_, stdout, _ := command(t, nil, append(append([]string{"__complete"}, words...), "")...)
		assert.Equal(t, ":0\n", stdout, words)
	}
}

func TestCompletionsExistForEveryShell(t *testing.T) {
	for shell, part := range map[string]string{"bash": "__start_portal", "zsh": "#compdef portal", "fish": "complete -c portal", "powershell": "Register-ArgumentCompleter"} {
		code, stdout, stderr := command(t, nil, "completion", shell)
		assert.Equal(t, 0, code)
		assert.Contains(t, stdout, part)
		assert.Empty(t, stderr)
	}
}
