package server_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inPipe runs a command of bin/portal with a pipe as standard input.
func inPipe(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env := portaltest.Environ(t.TempDir())
	if !slices.Contains(args, "ask") {
		env = append(env, portaltest.WithAccount)
	}
	return runCommand(t, 2*soon, exec.Cmd{Env: env, Dir: t.TempDir(), Stdin: strings.NewReader(input)}, args)
}

func TestAskRunsOnePrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input    string
		args           []string
		code           int
		stdout, stderr []string // parts
	}{
		{"only the answer goes to standard output, and words of the prompt need no quotes", "", []string{"ask", "say", "`hello there`"}, 0, []string{"hello there\n"}, nil},
		{"piped text approves nothing", "y\n", []string{"ask", "run `echo heron`"}, 0, []string{"nobody to ask"}, []string{"failed"}},
		{"with --answers, it answers questions", "y\n", []string{"ask", "--answers", "run `echo heron`"}, 0, []string{"heron"}, []string{"Allow?"}},
		{"answers are not the prompt", "y\n", []string{"ask", "--answers"}, 2, nil, []string{"give the prompt as an argument"}},
		{"if everything is allowed, nothing is asked, and completed to-dos are shown", "", []string{"ask", "--permissions", "allow", "plan `Look` `Leap`, then run `echo heron`"}, 0, []string{"heron"}, []string{"bash echo heron", "  ✓ Look\n  ✓ Leap\n"}},
		{"piped text belongs to the prompt, and events are lines of JSON", "say `piped`\n", []string{"ask", "--json", "say `given`", "and"}, 0, []string{"given", `"type":"end","outcome":"completed"`}, nil},
		{"a failure is reported and ends with code 1", "", []string{"ask", "fail"}, 1, nil, []string{"portal: "}},
		{"an unknown model", "", []string{"ask", "--model", "none", "x"}, 1, nil, []string{`no such model: "none"`}},
		{"a missing directory", "", []string{"ask", "--cwd", "/no/where", "x"}, 1, nil, []string{"does not exist"}},
		{"an empty prompt", "", []string{"ask"}, 1, nil, []string{"the prompt is empty"}},
		{"an invalid permission", "", []string{"ask", "--permissions", "maybe", "x"}, 2, nil, []string{"allow, ask or deny"}},
		{"an invalid mode", "", []string{"ask", "--mode", "yolo", "x"}, 2, nil, []string{"interactive, plan or autopilot"}},
		{"a missing attachment", "", []string{"ask", "--attach", "none.go", "x"}, 2, nil, []string{"none.go"}},
		{"standard input can be the prompt; the mode and an attachment reach the model", "show request\n", []string{"ask", "--mode", "plan", "--attach", "."}, 0, []string{"plan_mode"}, nil},
		{"the models", "", []string{"models"}, 0, []string{"demo  ×0  Demo (scripted, offline)\n"}, []string{"not signed in"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := inPipe(t, c.input, c.args...)
			assert.Equal(t, c.code, code)
			for _, part := range c.stdout {
				assert.Contains(t, stdout, part)
			}
			for _, part := range c.stderr {
				assert.Contains(t, stderr, part)
			}
			assert.Equal(t, c.stderr == nil, stderr == "", stderr)
		})
	}
}
