package sdk_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
)

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestSessionStartsWithoutAgent(t *testing.T) {
	var log lockedBuffer
	w := whole{t, host(t, copilot.Options{}, func(o *sdk.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })}
	v := w.start(func(s *copilot.Start) { s.Model, s.WithoutAgent = demo.ModelName, true })
	assert.NotContains(t, log.String(), "the Copilot CLI started")
	assert.Equal(t, demo.ModelName, v.Info().Model)

	v.prompt(text("say `hello`"))
	changed, _ := next[event.ModelChanged](v)
	assert.Equal(t, demo.ModelID, changed.Model)
	_, said := v.end()
	assert.Equal(t, "hello", said)
	assert.NotContains(t, log.String(), "cannot resume", "there was nothing to resume")

	require.NoError(t, v.Close())
	require.NoError(t, v.Resume(t.Context()))
	assert.Contains(t, v.run(text("recall")), "say `hello`")
	assert.NotContains(t, log.String(), "cannot resume")
}

func TestSessionToolsAreReplaced(t *testing.T) {
	w := whole{t, host(t, copilot.Options{}, nil)}
	v := w.start(func(s *copilot.Start) {
		withTool(s)
		s.Model = demo.ModelID
	})
	v.run(text("say `a heron`"))
	p := text("call `git_push` `{}`")
	p.Tools = &[]event.Tool{{Name: "git.push", Description: "pushes"}}
	v.prompt(p)
	v.answer(v.question(event.AskPermission), event.Answer{Approved: true})
	q := v.question(event.AskTool)
	assert.Equal(t, "git.push", q.Tool)
	v.answer(q, event.Answer{Text: "pushed it"})
	_, said := v.end()
	assert.Contains(t, said, "pushed it")
	assert.Contains(t, v.run(text("recall")), "a heron")
	v.prompt(text("call `git_commit` `{}`"))
	_, passed := next[event.RunEnded](v)
	asked, _ := among[event.QuestionAsked](passed)
	assert.Empty(t, asked, "the old tool was replaced")
}
