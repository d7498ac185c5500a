package fake_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

// asksTwo returns a script that asks two questions at once and says what it gets for each.
func asksTwo(kinds ...event.QuestionKind) func(*fake.Turn) {
	return func(t *fake.Turn) {
		var work sync.WaitGroup
		told := make([]string, len(kinds))
		for i, k := range kinds {
			work.Go(func() {
				a, ok := t.AskAlways(event.Question{ID: fmt.Sprint(i), Kind: k})
				told[i] = fmt.Sprint(ok, a.Text)
			})
		}
		work.Wait()
		t.Emit(event.MessageDelta{Text: fmt.Sprint(told)})
	}
}

func TestPendingQuestionsContinue(t *testing.T) {
	permission, tool, input := event.AskPermission, event.AskTool, event.AskInput
	q := func(id string) event.Question { return event.Question{ID: id} }
	tests := []struct {
		name    string
		kinds   []event.QuestionKind
		spoil   func(*fake.Agents)
		pending []event.Question
		answers []string
		want    []string
	}{
		{
			"all questions, answered in any order",
			[]event.QuestionKind{permission, tool},
			nil,
			[]event.Question{q("0"), q("1")},
			[]string{"1", "0"},
			[]string{"over 1", "over 0", "delta [true to 0 true to 1]", "idle false"},
		},
		{
			"a question that is not pending gets no answer",
			[]event.QuestionKind{permission, tool},
			nil,
			[]event.Question{q("1")},
			[]string{"0", "1"},
			[]string{"over 1", "delta [false true to 1]", "idle false"},
		},
		{
			"the user is not asked again",
			[]event.QuestionKind{permission, input},
			nil,
			[]event.Question{q("0"), q("1")},
			[]string{"1", "0"},
			[]string{"over 1", "over 0", "delta [true to 0 false]", "idle false"},
		},
		{"none, if none is pending", []event.QuestionKind{permission, tool}, nil, nil, []string{"0"}, nil},
		{
			"none of a damaged conversation",
			[]event.QuestionKind{permission, tool},
			func(a *fake.Agents) { a.Damage("1") },
			[]event.Question{q("0")},
			[]string{"0"},
			[]string{"SessionError", "over 0", "idle true"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				defer s.agents.Close()
				s.agents.Script = asksTwo(tt.kinds...)
				s.send("a")
				synctest.Wait()
				s.agents.Kill()
				<-s.agent.Done()
				require.Error(t, s.conversation.Close(t.Context()), "it is too late and changes nothing")
				if tt.spoil != nil {
					tt.spoil(s.agents)
				}
				var err error
				s.agent, err = s.agents.Launch(t.Context())
				require.NoError(t, err)
				c, e := s.open(agent.Opening{Session: "1", Resume: true, Pending: tt.pending})
				for _, id := range tt.answers {
					require.NoError(t, c.Answer(t.Context(), q(id), event.Answer{Text: " to " + id}))
				}
				assert.Equal(t, tt.want, e.now())
			})
		})
	}
}

func TestOpenConversationCannotBeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		defer s.agents.Close()
		s.send("a")
		synctest.Wait()
		require.Error(t, s.agent.Forget(t.Context(), "1"))
		assert.Equal(t, []string{"1"}, s.agents.Saved())
		require.NoError(t, s.conversation.Close(t.Context()))
		require.NoError(t, s.agent.Forget(t.Context(), "1"))
		assert.Empty(t, s.agents.Saved())
	})
}
