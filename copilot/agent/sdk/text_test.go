package sdk_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

func TestDifferenceHasLinesAroundIt(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, before, after string }{
		"a changed line":    {"a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "b\nc\nd\n", "b\nX\nd\n"},
		"an added line":     {"a\nb\nc\nd\n", "a\nb\nX\nc\nd\n", "b\nc\n", "b\nX\nc\n"},
		"at the beginning":  {"a\nb\n", "X\na\nb\n", "a\n", "X\na\n"},
		"at the end":        {"a\nb\n", "a\nb\nX\n", "b\n", "b\nX\n"},
		"no end of line":    {"a\nb", "a\nX", "a\nb", "a\nX"},
		"lines that repeat": {"a\na\na\nb\n", "a\nX\na\na\nb\n", "a\na\na\n", "a\nX\na\na\n"},
		"an empty text":     {"", "a\n", "", "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := sdk.Difference(tc.from, tc.to)
			assert.Equal(t, tc.before, before)
			assert.Equal(t, tc.after, after)
		})
	}
}

func FuzzDifference(f *testing.F) {
	f.Add("a\na\nb", "a\nb")
	f.Add("\n\n\n", "\n\n")
	f.Add("ab\nab\n", "ab\nab\nab\n")
	f.Fuzz(func(t *testing.T, from, to string) {
		if from == to || from == "" {
			return
		}
		before, after := sdk.Difference(from, to)
		got, ok := sdk.ReplaceOnce(from, before, after)
		require.True(t, ok, "%q occurs once", before)
		assert.Equal(t, to, got)
	})
}

func FuzzPlainText(f *testing.F) {
	f.Add("a\r\nb\r\n")
	f.Add("\ufeffa\n")
	f.Add("a\r\nb\n")
	f.Fuzz(func(t *testing.T, raw string) {
		if text, ok := sdk.PlainText(raw); ok {
			assert.NotContains(t, text, "\r\n")
			assert.Equal(t, raw, sdk.WithFormatOf(raw, text))
		}
	})
}

func TestContradictionsAreNotMerged(t *testing.T) {
	base := "a\nb\nc\nd\n"
	merged, ok := sdk.Merge(base, "A\nb\nc\nd\n", "a\nb\nc\nD\n")
	assert.True(t, ok)
	assert.Equal(t, "A\nb\nc\nD\n", merged)
	_, ok = sdk.Merge(base, "a\nX\nc\nd\n", "a\nY\nc\nd\n")
	assert.False(t, ok)
}

func TestRangesOfLines(t *testing.T) {
	const text = "a\nb\nc\n"
	for name, tc := range map[string]struct {
		span []int
		want string
		ok   bool
	}{
		"none":            {nil, text, true},
		"a part":          {[]int{2, 3}, "b\nc", true},
		"to the end":      {[]int{2, -1}, "b\nc", true},
		"beyond the end":  {[]int{3, 9}, "c", true},
		"outside":         {[]int{4, 9}, "", false},
		"backward":        {[]int{3, 2}, "", false},
		"from zero":       {[]int{0, 2}, "", false},
		"one number only": {[]int{1}, "", false},
	} {
		got, ok := sdk.Lines(text, tc.span...)
		assert.Equal(t, tc.ok, ok, name)
		assert.Equal(t, tc.want, got, name)
	}
}

// The CLI offers apply_patch only to models of the vendor, so these tests have none.

func TestPatchReachesABufferWithUnsavedChanges(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+THREE\n*** End Patch"
	for name, args := range map[string]any{"as the only argument": patch, "in an object": map[string]any{"input": patch}} {
		t.Run(name, func(t *testing.T) {
			file, buffer := filepath.Join(t.TempDir(), "a.txt"), "zero\none\ntwo\nthree\n"
			require.NoError(t, os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600))
			require.NoError(t, os.Chtimes(file, time.Unix(0, 0), time.Unix(0, 0)), "before the run")
			files := sdk.NewFiles(agent.Opening{Directory: filepath.Dir(file), Buffer: func(_ context.Context, path string) (agent.Buffer, bool) {
				return agent.Buffer{Text: buffer, Write: func(_ context.Context, text string) error {
					buffer = text
					return nil
				}}, path == file
			}})
			assert.Nil(t, files.Before("apply_patch", args), "the patch stays as it is")
			assert.Contains(t, files.Failed("apply_patch", args).AdditionalContext, "unsaved changes")
			files.Before("apply_patch", args)
			require.NoError(t, os.WriteFile(file, []byte("one\ntwo\nTHREE\n"), 0o600))
			files.After("apply_patch", args)
			assert.Equal(t, "zero\none\ntwo\nTHREE\n", buffer)
		})
	}
}
