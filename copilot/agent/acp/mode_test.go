package acp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

const (
	inModes   = `{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"auto"},{"id":"default"}]}}`
	inOptions = `{"sessionId":"s1","configOptions":[{"id":"m","category":"mode","currentValue":"default","options":[{"value":"auto"},{"value":"default"}]}]}`

	leaveMode   = `{"sessionUpdate":"current_mode_update","currentModeId":"auto"}`
	leaveOption = `{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","category":"mode","currentValue":"auto","options":[{"value":"auto"},{"value":"default"}]}]}`
)

// moody returns an agent that leaves its safe mode so many times in the first prompt, each time after it was made to return.
func moody(t *testing.T, created, leave string, times int) (s *scripted, selected <-chan string) {
	t.Helper()
	modes, all := make(chan string, 100), make(chan string, 100)
	cancelled := make(chan struct{})
	first := true
	selects := jsonrpc.Method{Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) {
		var p struct{ ModeID, Value string }
		err := r.Decode(&p)
		all <- p.ModeID + p.Value
		modes <- p.ModeID + p.Value
		return document{}, err
	}}
	methods := prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		if !first {
			return "end_turn"
		}
		first = false
		for i := range times {
			send(ctx, p, leave)
			select {
			case <-modes:
			case <-cancelled:
				assert.Equal(t, times-1, i)
				return "cancelled"
			case <-ctx.Done():
			}
		}
		return "end_turn"
	})
	methods["session/new"] = answer(created)
	methods["session/set_mode"], methods["session/set_config_option"] = selects, selects
	methods["session/cancel"] = jsonrpc.Method{Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		select {
		case <-cancelled:
		default:
			close(cancelled)
		}
		return json.RawMessage(`{}`), nil
	}}
	return script(t, "claude", methods), all
}

// errorsIn returns the errors among events.
func errorsIn(list []event.Body) (failures []event.SessionError) {
	for _, b := range list {
		if failure, is := b.(event.SessionError); is {
			failures = append(failures, failure)
		}
	}
	return failures
}

func TestSafeModeIsSelectedAgain(t *testing.T) {
	for name, c := range map[string][2]string{"a mode": {inModes, leaveMode}, "an option": {inOptions, leaveOption}} {
		t.Run(name, func(t *testing.T) {
			s, selected := moody(t, c[0], c[1], 3)
			list := s.run(nil)
			assert.Empty(t, errorsIn(list))
			require.Len(t, selected, 3)
			assert.Equal(t, "default", <-selected)
		})
	}
}

func TestAgentThatInsistsOnAnotherModeIsStopped(t *testing.T) {
	for name, c := range map[string][2]string{"a mode": {inModes, leaveMode}, "an option": {inOptions, leaveOption}} {
		t.Run(name, func(t *testing.T) {
			s, selected := moody(t, c[0], c[1], 4)
			conversation, bodies := s.open(t.TempDir())
			list := s.prompt(conversation, bodies, nil)
			failure := find[event.SessionError](t, list)
			assert.Equal(t, fault.Denied, failure.Kind)
			assert.Contains(t, failure.Text, `the agent claude left the mode "default", in which it asks before it acts, for "auto" again and again`)
			assert.False(t, find[event.Idle](t, list).Aborted, "nobody has cancelled it")
			require.Len(t, selected, 3)

			again := s.prompt(conversation, bodies, nil)
			assert.Len(t, selected, 4, "the next prompt selects the mode first")
			assert.Empty(t, errorsIn(again))
		})
	}
}

func TestPromptIsNotSentInAnotherMode(t *testing.T) {
	left := make(chan struct{}, 1)
	s := script(t, "claude", jsonrpc.Methods{
		"session/new": answer(inModes),
		"session/set_mode": {Handle: func(context.Context, *jsonrpc.Request) (any, error) {
			select {
			case left <- struct{}{}:
			default:
			}
			return nil, jsonrpc.Errorf(-32603, "no", "")
		}},
	})
	conversation, _ := s.open(t.TempDir())
	send(t.Context(), s.peer, leaveMode)
	<-left
	require.Error(t, conversation.Send(t.Context(), event.Prompt{Text: "go"}))
	assert.NotContains(t, s.calls(), "session/prompt")
}
