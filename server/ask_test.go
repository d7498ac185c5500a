package server_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inPipe runs a command of bin/portal with a standard input that is no terminal.
func inPipe(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	env := portaltest.Environ(home)
	return toItsEnd(t, 2*soon, exec.Cmd{Env: env, Dir: t.TempDir(), Stdin: strings.NewReader(input)}, args)
}

func TestOnePromptInTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input    string
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{"the answer goes to standard output alone, and words of the prompt need no quotes", "", []string{"ask", "say", "`hello there`"}, 0, "hello there\n", ""},
		{"the prompt may come by standard input", "say `piped`\n", []string{"ask"}, 0, "piped\n", ""},
		{"what is piped in belongs to the prompt", "say `piped`\n", []string{"ask", "say `given`", "and"}, 0, "given", ""},
		{"it approves nothing", "y\n", []string{"ask", "run `echo heron`"}, 0, "nobody to ask", "failed"},
		{"unless it is said to have the answers", "y\n", []string{"ask", "--answers", "run `echo heron`"}, 0, "heron", "Allow?"},
		{"answers are no prompt", "y\n", []string{"ask", "--answers"}, 2, "", "give the prompt as an argument"},
		{"it is not asked for where all is allowed", "", []string{"ask", "--permissions", "allow", "run `echo heron`"}, 0, "heron", "bash echo heron"},
		{"events as lines of JSON", "", []string{"ask", "--json", "say `j`"}, 0, `"type":"end","outcome":"completed"`, ""},
		{"a failure is told and ends with code 1", "", []string{"ask", "fail"}, 1, "", "portal: "},
		{"an unknown model", "", []string{"ask", "--model", "none", "x"}, 1, "", `no such model: "none"`},
		{"a directory that is not there", "", []string{"ask", "--cwd", "/no/where", "x"}, 1, "", "does not exist"},
		{"an empty prompt", "", []string{"ask"}, 1, "", "the prompt is empty"},
		{"a bad permission", "", []string{"ask", "--permissions", "maybe", "x"}, 2, "", "allow, ask or deny"},
		{"a bad mode", "", []string{"ask", "--mode", "yolo", "x"}, 2, "", "interactive, plan or autopilot"},
		{"an attachment that is not there", "", []string{"ask", "--attach", "none.go", "x"}, 2, "", "none.go"},
		{"the mode and an attachment reach the model", "", []string{"ask", "--mode", "plan", "--attach", ".", "show request"}, 0, "plan_mode", ""},
		{"to-dos are shown as they are done", "", []string{"ask", "--permissions", "allow", "plan `Look` `Leap`"}, 0, "", "  ✓ Look\n  ✓ Leap\n"},
		{"the models", "", []string{"models"}, 0, "demo  ×0  Demo (scripted, offline)\n", "not signed in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inPipe(t, c.input, c.args...)
			assert.Equal(t, c.code, code)
			assert.Contains(t, stdout, c.stdout)
			assert.Contains(t, stderr, c.stderr)
			if c.stderr == "" {
				assert.Empty(t, stderr)
			}
		})
	}
}
