package server_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inPipe runs a command of bin/portal with a pipe as standard input.
func inPipe(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	env := portaltest.Environ(home)
	return runCommand(t, 2*soon, exec.Cmd{Env: env, Dir: t.TempDir(), Stdin: strings.NewReader(input)}, args)
}

func TestAskRunsOnePrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input    string
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{"only the answer goes to standard output, and words of the prompt need no quotes", "", []string{"ask", "say", "`hello there`"}, 0, "hello there\n", ""},
		{"standard input can be the prompt", "say `piped`\n", []string{"ask"}, 0, "piped\n", ""},
		{"piped text belongs to the prompt", "say `piped`\n", []string{"ask", "say `given`", "and"}, 0, "given", ""},
		{"piped text approves nothing", "y\n", []string{"ask", "run `echo heron`"}, 0, "nobody to ask", "failed"},
		{"with --answers, it answers questions", "y\n", []string{"ask", "--answers", "run `echo heron`"}, 0, "heron", "Allow?"},
		{"answers are not the prompt", "y\n", []string{"ask", "--answers"}, 2, "", "give the prompt as an argument"},
		{"if everything is allowed, nothing is asked", "", []string{"ask", "--permissions", "allow", "run `echo heron`"}, 0, "heron", "bash echo heron"},
		{"events as lines of JSON", "", []string{"ask", "--json", "say `j`"}, 0, `"type":"end","outcome":"completed"`, ""},
		{"a failure is reported and ends with code 1", "", []string{"ask", "fail"}, 1, "", "portal: "},
		{"an unknown model", "", []string{"ask", "--model", "none", "x"}, 1, "", `no such model: "none"`},
		{"a missing directory", "", []string{"ask", "--cwd", "/no/where", "x"}, 1, "", "does not exist"},
		{"an empty prompt", "", []string{"ask"}, 1, "", "the prompt is empty"},
		{"an invalid permission", "", []string{"ask", "--permissions", "maybe", "x"}, 2, "", "allow, ask or deny"},
		{"an invalid mode", "", []string{"ask", "--mode", "yolo", "x"}, 2, "", "interactive, plan or autopilot"},
		{"a missing attachment", "", []string{"ask", "--attach", "none.go", "x"}, 2, "", "none.go"},
		{"the mode and an attachment reach the model", "", []string{"ask", "--mode", "plan", "--attach", ".", "show request"}, 0, "plan_mode", ""},
		{"completed to-dos are shown", "", []string{"ask", "--permissions", "allow", "plan `Look` `Leap`"}, 0, "", "  ✓ Look\n  ✓ Leap\n"},
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
