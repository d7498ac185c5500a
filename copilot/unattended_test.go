package copilot_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// alone returns options with which questions in sessions of the tests are decided
// when no one can answer them for two minutes.
func alone(d permission.Decision) copilot.Options {
	return copilot.Options{Unattended: map[string]copilot.Unattended{"test": {After: 2 * time.Minute, Decision: d}}}
}

var (
	mayRun      = event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "Run make"}
	permissions = copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission}}
)

func TestUnattendedQuestionIsDecided(t *testing.T) {
	const why = "No client that can answer was there for 2m0s, so the portal "
	plan := event.Question{ID: "q", Kind: event.AskPlan, Text: "a"}
	input := event.Question{ID: "q", Kind: event.AskInput, Text: "Which?", Freeform: true}
	for name, tc := range map[string]struct {
		decision permission.Decision
		question event.Question
		want     event.Answer
	}{
		"a permission is denied":                        {permission.Deny, mayRun, event.Answer{Reason: why + "refused."}},
		"a permission is denied by default":             {"", mayRun, event.Answer{Reason: why + "refused."}},
		"a permission is denied if the decision is ask": {permission.Ask, mayRun, event.Answer{Reason: why + "refused."}},
		"a permission is allowed":                       {permission.Allow, mayRun, event.Answer{Approved: true, Reason: why + "allowed it."}},
		"a plan is allowed":                             {permission.Allow, plan, event.Answer{Approved: true, Reason: why + "allowed it."}},
		"a text is declined":                            {permission.Allow, input, event.Answer{Reason: why + "refused."}},
	} {
		inWorld(t, name, alone(tc.decision), func(w *world) {
			a := w.asks(tc.question)
			s := w.start()
			w.run(s, "x")
			wait(2*time.Minute - time.Second)
			assert.Empty(w.t, a.got())
			wait(time.Second)
			assert.Equal(w.t, []event.Answer{tc.want}, a.got())
			end := of[event.QuestionClosed](w.t, s)
			require.Len(w.t, end, 1)
			assert.Equal(w.t, copilot.ByNobody, end[0].By)
			assert.Equal(w.t, event.Answered, end[0].Ending)
			assert.Equal(w.t, tc.want, end[0].Answer)
		})
	}
}

func TestQuestionWaitsForClientThatCanAnswer(t *testing.T) {
	input := event.Question{ID: "q", Kind: event.AskInput, Text: "Which?", Choices: []string{"a"}}
	tool := event.Question{ID: "q", Kind: event.AskTool, Tool: "t"}
	other := copilot.Capabilities{Kinds: []event.QuestionKind{event.AskForm}}
	for name, tc := range map[string]struct {
		question event.Question
		able     copilot.Capabilities
		waits    bool
	}{
		"a client that answers permissions":  {mayRun, permissions, true},
		"a client that answers forms":        {mayRun, other, false},
		"a client without capabilities":      {mayRun, copilot.Capabilities{}, false},
		"a client that picks a choice":       {input, copilot.Capabilities{Choices: true}, true},
		"a client that picks without choice": {event.Question{ID: "q", Kind: event.AskInput, Text: "?"}, copilot.Capabilities{Choices: true}, false},
		"a tool call has its own limit":      {tool, copilot.Capabilities{}, true},
	} {
		inWorld(t, name, alone(permission.Deny), func(w *world) {
			a := w.asks(tc.question)
			s := w.start()
			leave := w.host.AttachClient(s.ID(), tc.able)
			defer leave()
			w.run(s, "x")
			wait(5 * time.Minute)
			assert.Equal(w.t, tc.waits, len(a.got()) == 0)
		})
	}
}

func TestOnlyUnattendedTimeCounts(t *testing.T) {
	inWorld(t, "starting when the last client has left", alone(permission.Deny), func(w *world) {
		a := w.asks(mayRun)
		s := w.start()
		leave := w.host.AttachClient(s.ID(), permissions)
		more := w.host.AttachClient(s.ID(), permissions)
		w.run(s, "x")
		leave()
		leave()
		wait(3 * time.Minute)
		assert.Empty(w.t, a.got(), "another client is attached")
		more()
		wait(2*time.Minute - time.Second)
		assert.Empty(w.t, a.got())
		wait(time.Second)
		assert.Len(w.t, a.got(), 1)
	})
	inWorld(t, "starting again after a client", alone(permission.Deny), func(w *world) {
		a := w.asks(mayRun)
		s := w.start()
		w.run(s, "x")
		wait(time.Minute)
		leave := w.host.AttachClient(s.ID(), permissions)
		wait(time.Hour)
		leave()
		wait(2*time.Minute - time.Second)
		assert.Empty(w.t, a.got())
		wait(time.Second)
		assert.Len(w.t, a.got(), 1)
	})
	inWorld(t, "until a client comes", alone(permission.Deny), func(w *world) {
		a := w.asks(mayRun)
		s := w.start()
		w.run(s, "x")
		wait(time.Minute)
		leave := w.host.AttachClient(s.ID(), permissions)
		wait(time.Hour)
		assert.Empty(w.t, a.got())
		require.NoError(w.t, s.Answer("q", yes, "test"))
		synctest.Wait()
		assert.Equal(w.t, []event.Answer{yes}, a.got())
		leave()
		wait(time.Hour)
		assert.Len(w.t, a.got(), 1)
	})
}

func TestQuestionsOfDetachedClientsWait(t *testing.T) {
	inWorld(t, "if the client declares capabilities", alone(permission.Deny), func(w *world) {
		a := w.asks(mayRun)
		s, err := w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Directory: w.directory, Capabilities: permissions})
		require.NoError(w.t, err)
		w.run(s, "x")
		wait(time.Hour)
		assert.Empty(w.t, a.got())
	})
	inWorld(t, "if it declares them later", alone(permission.Deny), func(w *world) {
		a := w.asks(mayRun)
		s := w.start()
		w.run(s, "x")
		wait(time.Minute)
		s.AddCapabilities(permissions)
		wait(time.Hour)
		assert.Empty(w.t, a.got())
	})
	options := alone(permission.Deny)
	options.Unattended["test"] = copilot.Unattended{After: time.Minute, Answers: permissions}
	inWorld(t, "if the portal configures them", options, func(w *world) {
		a := w.asks(mayRun)
		w.run(w.start(), "x")
		wait(time.Hour)
		assert.Empty(w.t, a.got())
	})
	inWorld(t, "if nothing is decided unattended", copilot.Options{}, func(w *world) {
		a := w.asks(mayRun)
		w.run(w.start(), "x")
		wait(time.Hour)
		assert.Empty(w.t, a.got())
	})
}

func TestRecoveredQuestionIsDecidedUnattended(t *testing.T) {
	for name, answers := range map[string]copilot.Capabilities{"no client can answer": {}, "the client can answer": permissions} {
		atHome(t, name, func(h *home) {
			h.agents.Script = func(t *fake.Turn) { t.AskAlways(mayRun) }
			p := h.portalWith(alone(permission.Deny))
			s, err := p.host.Start(h.t.Context(), copilot.Start{Origin: "test", Directory: h.work, Capabilities: answers, Attributes: map[string]string{"a": "b"}})
			require.NoError(h.t, err)
			prompt(h.t, s, "x")
			settle()
			p.kill()

			p = h.portalWith(alone(permission.Deny))
			defer p.stop()
			require.NoError(h.t, p.host.Recover(h.t.Context()))
			s = p.session(s.ID())
			assert.Equal(h.t, "b", s.Attribute("a"), "attributes of the client are kept")
			wait(2*time.Minute - 2*time.Second)
			assert.Empty(h.t, of[event.QuestionClosed](h.t, s))
			wait(3 * time.Second)
			want := 1
			if len(answers.Kinds) > 0 {
				want = 0
			}
			assert.Len(h.t, of[event.QuestionClosed](h.t, s), want)
		})
	}
}

func TestCapabilitiesAndAttributesSurviveRestart(t *testing.T) {
	atHome(t, "when they were set while the session was suspended", func(h *home) {
		t := h.t
		id, unused, p := h.suspended()
		unused.stop()
		s := p.session(id)
		s.SetAttribute("mode", "plan")
		s.AddCapabilities(permissions)
		settle()
		assert.Zero(t, p.agents.Running(), "the session stays suspended")
		p.stop()

		p = h.portalWith(alone(permission.Deny))
		defer p.stop()
		s = p.session(id)
		assert.Equal(t, "plan", s.Attribute("mode"))
		h.agents.Script = func(t *fake.Turn) { t.AskAlways(mayRun) }
		prompt(t, s, "x")
		wait(time.Hour)
		assert.Empty(t, of[event.QuestionClosed](t, s))
	})
}
