package transcript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/contract"
	"github.com/copilot-portal/portal/server/portaltest/transcript"
)

// TestTranscriptsAreValid finds mistakes in the files without a portal.
func TestTranscriptsAreValid(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob(spec(t, "transcripts/*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		script, err := transcript.Parse(file, string(text))
		require.NoError(t, err)
		for _, step := range script.Steps {
			checkSteps(t, s, script.Name, append(step.Group, step))
		}
	}
}

func checkSteps(t *testing.T, s *contract.Dialect, script string, steps []transcript.Step) {
	t.Helper()
	for _, step := range steps {
		if step.Verb != transcript.Send && step.Verb != transcript.Expect {
			continue
		}
		message, _ := value(t, step.Text).(map[string]any)
		if method, called := message["method"].(string); called {
			assert.True(t, s.Knows(method), "%s.txt:%d: %s", script, step.Line, method)
		}
		if step.Verb == transcript.Send {
			message["jsonrpc"] = "2.0"
			delete(message, "result") // its method is known only when the script is played
			if message["method"] != nil {
				assert.NoError(t, s.Check(message, ""), "%s.txt:%d", script, step.Line)
			}
		}
	}
}
