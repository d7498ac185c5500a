package transcript_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/transcript"
)

func TestScriptIsParsed(t *testing.T) {
	s, err := transcript.Parse("a/plain.txt", `# A comment.
@ignore run.context usage
@portal --demo --debug
@config permissions: {headless: deny}

> {"id": "1",
   "method": "x"}
@any
< {"id": "1"}
< {"id": "2"}
@end
@exit 0
`)
	require.NoError(t, err)
	assert.Equal(t, "plain", s.Name)
	assert.True(t, s.Needs.OwnPortal())
	assert.Equal(t, transcript.Needs{
		Args: []string{"--demo", "--debug"}, Config: "permissions: {headless: deny}", Ignore: []string{"run.context", "usage"},
	}, s.Needs)
	assert.Equal(t, []transcript.Step{
		{Line: 6, Verb: transcript.Send, Text: `{"id": "1", "method": "x"}`},
		{Line: 8, Verb: transcript.Any, Group: []transcript.Step{
			{Line: 9, Verb: transcript.Expect, Text: `{"id": "1"}`}, {Line: 10, Verb: transcript.Expect, Text: `{"id": "2"}`},
		}},
		{Line: 12, Verb: transcript.Exit, Text: "0"},
	}, s.Steps)
}

func TestParseErrorsContainTheLine(t *testing.T) {
	for text, fault := range map[string]string{
		"\n@dance":       `a.txt:2: "@dance" is unknown`,
		"@any\n> {}":     "a.txt:2: > is not allowed in @any",
		"@any\n< {}":     "a.txt:1: @any has no @end",
		"@exit soon":     `a.txt:1: "soon" is not an exit code`,
		"@ignore":        "a.txt:1: @ignore needs an argument",
		"@desk 1":        "a.txt:1: @desk takes no argument",
		"@end":           `a.txt:1: "@end" is unknown`,
		"{}":             `a.txt:1: "{}" is unknown`,
		"@only telegram": "a.txt:1: there is no carrier",
	} {
		_, err := transcript.Parse("a.txt", text)
		assert.ErrorContains(t, err, fault)
	}
}
