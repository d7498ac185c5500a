package ui_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestRunWithGapHasOneTerminalStatus(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { flood(t, "a"); flood(t, "b") }
		w := p.Able()
		_, session := w.Prompt("warm up")
		synctest.Wait()
		u := p.Able()
		u.Ask("portal.session.attach", document{"session_id": session, "max_events": 0})
		u.Heard()
		u.StopReading()
		w.Prompt("go")
		synctest.Wait()
		u.ReadAgain()
		got := brief(u.Heard())
		assert.Equal(t, "status completed", got[len(got)-1])
		ended := 0
		for _, l := range got {
			if l == "status completed" || strings.HasPrefix(l, "status error") {
				ended++
			}
		}
		assert.Equal(t, 1, ended, "%s", strings.Join(got, "\n"))
	})
}

func TestSlowClientToolIsNotGone(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		next := make(chan struct{})
		told := make(chan event.Answer, 1)
		p.Agents.Script = func(t *fake.Turn) {
			go func() { <-next; flood(t, "a"); flood(t, "b"); flood(t, "c") }()
			a, _ := t.Ask(event.Question{Kind: event.AskTool, Call: "c", Tool: "count", Arguments: []byte(`{}`)})
			told <- a
		}
		u := p.Able()
		u.Ask("run.start", document{"input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		synctest.Wait()
		u.StopReading()
		close(next)
		synctest.Wait()
		u.ReadAgain()
		u.Reply("client.tool.call", document{"result": "4"})
		assert.Equal(t, event.Answer{Text: "4"}, <-told)
	})
}

func TestQuestionOpenAcrossGapIsAnswerable(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		next := make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			go func() { <-next; flood(t, "a"); flood(t, "b"); flood(t, "c") }()
			command(t)
		}
		u := p.Able()
		u.Prompt("x")
		synctest.Wait()
		u.StopReading()
		close(next)
		synctest.Wait()
		u.ReadAgain()
		u.Reply("ui.confirm.request", document{"ok": true})
		assert.Contains(t, u.Heard(), "status completed", "the person has answered, and nobody is asked again")
	})
}

func TestQuestionAskedInGapIsAsked(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		next := make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			if t.Prompt == "warm up" {
				return
			}
			go func() { <-next; flood(t, "c"); flood(t, "d") }()
			flood(t, "a")
			flood(t, "b")
			command(t)
		}
		w, u := p.Able(), p.Able()
		_, session := w.Prompt("warm up")
		u.Ask("portal.session.attach", document{"session_id": session})
		u.StopReading()
		w.Prompt("go")
		synctest.Wait()
		close(next)
		synctest.Wait()
		u.ReadAgain()
		u.Reply("ui.confirm.request", document{"ok": true})
		got := brief(u.Heard())
		assert.Equal(t, "status completed", got[len(got)-1], "%s", strings.Join(got, "\n"))
	})
}

func TestQuestionAnsweredInGapIsClosed(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		fill, next := make(chan struct{}), make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			if t.Prompt == "warm up" {
				return
			}
			go func() { <-fill; flood(t, "a") }()
			command(t)
			flood(t, "b")
			flood(t, "c")
			<-next
			t.Call("bash", `{}`, "later")
			t.WaitForAbort()
		}
		w := p.Able()
		u := p.Able()
		_, session := w.Prompt("warm up")
		u.Ask("portal.session.attach", document{"session_id": session})
		w.Prompt("x")
		synctest.Wait()
		u.StopReading()
		close(fill)
		synctest.Wait()
		w.Reply("ui.confirm.request", document{"ok": true})
		synctest.Wait()
		u.ReadAgain()
		synctest.Wait()
		close(next)
		got := brief(u.Heard())
		last := ""
		for _, l := range got {
			if strings.HasPrefix(l, "status") {
				last = l
			}
		}
		assert.Equal(t, "status running", last, "nothing is asked any more\n%s", strings.Join(got, "\n"))
	})
}
