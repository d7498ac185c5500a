package copilot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

// queues are the prompts that waited, as the record tells it.
func queues(t *testing.T, s *copilot.Session) (list [][]string) {
	t.Helper()
	for _, q := range of[copilot.QueueChanged](t, s) {
		texts := []string{}
		for _, w := range q.Waiting {
			texts = append(texts, strings.TrimSpace(w.By+" "+w.Text))
		}
		list = append(list, texts)
	}
	return list
}

func TestPromptsThatWaitAreRecorded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *copilottest.Turn) { t.Wait(time.Minute) }
		s := w.start()
		w.prompt(s, "a")
		for _, text := range []string{"b", "token=ghp_0123456789abcdefghijABCDEFGHIJ012345\nand more"} {
			_, err := s.Prompt(copilot.Prompt{Text: text, By: "test"})
			require.NoError(t, err)
		}
		compact, err := s.Compact()
		require.NoError(t, err)
		waiting := s.Waiting()
		require.Len(t, waiting, 3)
		assert.Equal(t, copilot.Waiting{Run: waiting[0].Run, Text: "b", By: "test"}, waiting[0])
		assert.Equal(t, "token=ghp_…masked and more", waiting[1].Text)
		assert.Equal(t, copilot.Waiting{Run: compact}, waiting[2])

		require.NoError(t, s.Cancel(waiting[1].Run))
		require.NoError(t, s.Cancel(waiting[1].Run))
		last := []string{"test b", ""}
		told := queues(t, s)
		require.Len(t, told, 4, "each prompt, and the one that was cancelled")
		assert.Equal(t, last, told[3])
		wait(90 * time.Second)
		assert.Equal(t, []copilot.Waiting{{Run: compact}}, s.Waiting(), "the other has its run")
		assert.Len(t, queues(t, s), 4, "which tells it")
	})
}

func TestPromptsThatCameTooLateForTheirRunWait(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *copilottest.Turn) { t.Wait(time.Minute) }
		w.agents.Before = onSteers(hang) // it takes none in time
		s := w.start()
		run := w.prompt(s, "a")
		for _, text := range []string{"b", "c"} {
			_, err := s.Prompt(copilot.Prompt{Text: text, Steer: true})
			require.NoError(t, err)
		}
		require.NoError(t, s.Cancel(run))
		wait(10 * time.Second)
		assert.Equal(t, [][]string{{"c"}}, queues(t, s))
	})
}

func TestRulesInForceAreRecordedWhenTheyChange(t *testing.T) {
	inWorld(t, "", copilot.Options{Policy: copilot.Policy{"Git.Push": copilot.Deny, "fs.write": copilot.Ask}}, func(w *world) {
		s := w.startWith(copilot.Policy{"FS.write": copilot.Allow})
		assert.Equal(w.t, copilot.Policy{"Git.Push": copilot.Deny, "FS.write": copilot.Allow}, s.Rules())
		require.NoError(w.t, s.Permit(copilot.Policy{"git.push": copilot.Ask}))
		require.NoError(w.t, s.Permit(copilot.Policy{"git.push": copilot.Ask}), "once more")
		rules := copilot.Policy{"git.push": copilot.Ask, "FS.write": copilot.Allow}
		assert.Equal(w.t, rules, s.Rules())
		assert.Equal(w.t, []copilot.PolicyChanged{{Rules: rules}}, of[copilot.PolicyChanged](w.t, s))
	})
}
