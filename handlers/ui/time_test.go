package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

// slow is a run of 18 s, which begins 2 s after the test.
func slow(t *fake.Turn) {
	t.Emit(event.ReasoningStarted{ID: "g"}, event.ReasoningDelta{ID: "g", Text: "Hm"})
	time.Sleep(4 * time.Second)
	t.Emit(event.ReasoningEnded{ID: "g", Text: "Hm."})
	t.Emit(event.ToolStarted{ID: "t", Name: "bash"})
	time.Sleep(5 * time.Second)
	t.Emit(event.ToolEnded{ID: "t", Result: &event.ToolResult{Content: "ok"}})
	t.Emit(event.MessageStarted{ID: "m"})
	time.Sleep(6 * time.Second)
	t.Emit(event.MessageEnded{ID: "m", Text: "Done."})
	time.Sleep(3 * time.Second)
}

// moments are the notifications of a run, with the seconds since the beginning of
// the test when they happened, and when what they tell of began.
func moments(u *screen, since time.Time) (list [][3]any) {
	for _, f := range u.Raw() {
		p, _ := f["params"].(document)
		m, told := p["meta"].(document)
		if f["id"] != nil || !told {
			continue
		}
		event, _ := p["event"].(document)
		if event["type"] == "delta" {
			continue
		}
		seconds := func(name string) any {
			if ms, ok := m[name].(float64); ok {
				return ms/1000 - float64(since.Unix())
			}
			return nil
		}
		what := event["type"]
		if what == nil {
			what = p["status"]
		}
		list = append(list, [3]any{what, seconds("time"), seconds("started")})
	}
	u.Heard()
	return list
}

func TestEventsKeepTheirTimes(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = slow
		begin := time.Now()
		u := p.Able("supports_deltas")
		time.Sleep(2 * time.Second)
		_, session := u.Prompt("think")
		time.Sleep(time.Minute)
		want := [][3]any{
			{"running", 2.0, nil},
			{"hidden_user_message", 2.0, nil},
			{"model", 2.0, nil},
			{"reasoning", 6.0, 2.0},
			{"step_start", 6.0, nil},
			{"tool_call", 6.0, nil},
			{"tool_result", 11.0, nil},
			{"step_complete", 11.0, nil},
			{"final", 17.0, 11.0},
			{"completed", 20.0, nil},
		}
		assert.Equal(t, want, moments(u, begin))
		time.Sleep(time.Hour) // the pieces are not kept so long
		v := p.Able("supports_deltas")
		v.Ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, want, moments(v, begin))
	})
}

func TestRunningRunHasItsStartTime(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = slow
		begin := time.Now()
		u, v := p.Able("supports_deltas"), p.Able("supports_deltas")
		time.Sleep(2 * time.Second)
		_, session := u.Prompt("think")
		time.Sleep(7 * time.Second)
		v.Ask("portal.session.attach", document{"session_id": session, "max_events": 1})
		synctest.Wait()
		told := moments(v, begin)
		assert.Equal(t, [3]any{"running", 2.0, nil}, told[len(told)-1])
	})
}
