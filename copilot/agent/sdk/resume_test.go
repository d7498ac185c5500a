package sdk_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestUnresumableConversationStartsAnew(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	o := options(t)
	o.Env = append(o.Env, "COPILOT_HOME="+home)
	a := launch(t, sdk.New(o))
	write := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			t.Helper()
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, change(b), 0o600))
		}
	}
	for name, tc := range map[string]struct {
		damage func(t *testing.T, file string)
		lost   bool
	}{
		"garbage":          {write(func([]byte) []byte { return []byte("{damaged") }), true},
		"nothing":          {write(func([]byte) []byte { return nil }), true},
		"no file":          {func(t *testing.T, file string) { t.Helper(); require.NoError(t, os.Remove(file)) }, true},
		"no directory":     {func(t *testing.T, file string) { t.Helper(); require.NoError(t, os.RemoveAll(filepath.Dir(file))) }, true},
		"a truncated line": {write(func(b []byte) []byte { return b[:len(b)-20] }), false},
		"zeros at the end": {write(func(b []byte) []byte { return append(b, make([]byte, 4096)...) }), false},
		"a bad line":       {write(func(b []byte) []byte { return bytes.Replace(b, []byte("\n"), []byte("\n{damaged\n"), 1) }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, a, nil)
			c.run("say `heron`")
			c.close()
			tc.damage(t, filepath.Join(home, "session-state", c.opening.Session, "events.jsonl"))
			again := func() *talk { return open(t, a, func(o *agent.Opening) { *o = c.opening; o.Resume = true }) }
			first := again()
			failures := all[event.SessionError](first.got())
			assert.Equal(t, tc.lost, len(failures) == 1 && failures[0].Kind == fault.Unavailable && failures[0].Hint != "", failures)
			assert.Equal(t, "egret", said(first.run("say `egret`")))
			first.close()
			second := again()
			got := second.run("recall")
			assert.Contains(t, said(got), "egret", "later prompts are saved again")
			assert.Equal(t, !tc.lost, bytes.Contains([]byte(said(got)), []byte("heron")))
			assert.Empty(t, all[event.SessionError](second.got()))
		})
	}
}

func beginsAnew(t *testing.T, a *sdk.Agent) {
	t.Helper()
	c := open(t, a, nil)
	c.close()
	again := open(t, a, func(o *agent.Opening) { *o = c.opening; o.Resume = true })
	assert.Len(t, all[event.SessionError](again.got()), 1)
	assert.Equal(t, "hello", said(again.run("say `hello`")))
}

func TestUnsavedConversationIsNoWarning(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	o := options(t)
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	a := launch(t, sdk.New(o))
	c := open(t, a, nil)
	c.close()
	open(t, a, func(o *agent.Opening) { *o = c.opening; o.Resume = true })
	assert.NotContains(t, log.String(), "starts anew")
}

func TestConversationOpenElsewhereCannotBeForgotten(t *testing.T) {
	t.Parallel()
	d := sdk.New(options(t))
	c := open(t, launch(t, d), nil)
	c.run("say `heron`")
	require.ErrorContains(t, launch(t, d).Forget(t.Context(), c.opening.Session), "in use by another process")
	assert.Contains(t, said(c.run("recall")), "heron")
}
