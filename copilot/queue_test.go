package copilot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// queues returns the queues according to the record.
func queues(t *testing.T, s *copilot.Session) (list [][]string) {
	t.Helper()
	for _, q := range of[event.QueueChanged](t, s) {
		texts := []string{}
		for _, w := range q.Waiting {
			texts = append(texts, strings.TrimSpace(w.By+" "+w.Text))
		}
		list = append(list, texts)
	}
	return list
}

func TestQueuedPromptsAreRecorded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := w.start()
		w.prompt(s, "a")
		for _, text := range []string{"b", "token=ghp_0123456789abcdefghijABCDEFGHIJ012345\nand more"} {
			_, err := s.Prompt(event.Prompt{Text: text, By: "test"})
			require.NoError(t, err)
		}
		compact, err := s.Compact()
		require.NoError(t, err)
		waiting := s.Waiting()
		require.Len(t, waiting, 3)
		assert.Equal(t, event.Waiting{Run: waiting[0].Run, Text: "b", By: "test"}, waiting[0])
		assert.Equal(t, "token=ghp_…masked and more", waiting[1].Text)
		assert.Equal(t, event.Waiting{Run: compact}, waiting[2])

		require.NoError(t, s.Cancel(waiting[1].Run))
		require.NoError(t, s.Cancel(waiting[1].Run))
		last := []string{"test b", ""}
		recorded := queues(t, s)
		require.Len(t, recorded, 4, "one per prompt, and one for the cancellation")
		assert.Equal(t, last, recorded[3])
		wait(90 * time.Second)
		assert.Equal(t, []event.Waiting{{Run: compact}}, s.Waiting(), "the other run has started")
		assert.Len(t, queues(t, s), 4, "which reports it")
	})
}

func TestLateSteeringPromptsAreQueued(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		w.agents.Before = onSteers(fake.HangForever) // the agent accepts none in time
		s := w.start()
		run := w.prompt(s, "a")
		for _, text := range []string{"b", "c"} {
			_, err := s.Prompt(event.Prompt{Text: text, Steer: true})
			require.NoError(t, err)
		}
		require.NoError(t, s.Cancel(run))
		wait(10 * time.Second)
		assert.Equal(t, [][]string{{"c"}}, queues(t, s))
	})
}

func TestRulesInForceAreRecordedWhenTheyChange(t *testing.T) {
	inWorld(t, "", copilot.Options{Policy: permission.Policy{"Git.Push": permission.Deny, "fs.write": permission.Ask}}, func(w *world) {
		s := w.startWith(permission.Policy{"FS.write": permission.Allow})
		assert.Equal(w.t, permission.Policy{"Git.Push": permission.Deny, "FS.write": permission.Allow}, s.Rules())
		require.NoError(w.t, s.SetRules(permission.Policy{"git.push": permission.Ask}))
		require.NoError(w.t, s.SetRules(permission.Policy{"git.push": permission.Ask}), "setting it twice")
		rules := permission.Policy{"git.push": permission.Ask, "FS.write": permission.Allow}
		assert.Equal(w.t, rules, s.Rules())
		assert.Equal(w.t, []event.PolicyChanged{{Rules: rules}}, of[event.PolicyChanged](w.t, s))
	})
}
