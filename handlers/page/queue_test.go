package page_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

// lastQueue returns the texts of the last queue that a UI was told.
func lastQueue(u *screen) (texts []string) {
	for _, f := range u.Frames() {
		params, _ := f["params"].(document)
		told, _ := params["event"].(document)
		if told["type"] != "queue" {
			continue
		}
		texts = []string{}
		for _, w := range told["waiting"].([]any) {
			texts = append(texts, w.(document)["text"].(string))
		}
	}
	return texts
}

func TestAllUIsSeeChangesOfTheQueue(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u, other := p.Able("supports_deltas"), p.Able("supports_deltas")
		current, session := u.Prompt("a")
		synctest.Wait()
		other.Ask("portal.session.attach", document{"session_id": session})
		var runs []string
		for _, text := range []string{"b", "c", "d"} {
			run := u.Ask("run.start", document{
				"session_id": session, "input": document{"type": "text", "text": text}, "portal": document{"when_busy": "queue"},
			})["run_id"].(string)
			runs = append(runs, run)
		}
		other.Heard()
		check := func(want ...string) {
			t.Helper()
			synctest.Wait()
			for _, screen := range []*screen{u, other} {
				assert.Equal(t, want, lastQueue(screen))
			}
		}
		one := func(run string, more document) document {
			params := document{"session_id": session, "run_id": run}
			for k, v := range more {
				params[k] = v
			}
			return params
		}
		assert.Equal(t, document{}, other.Ask("portal.queue.edit", one(runs[0], document{"text": "B\nmore\a"})))
		check("B more", "c", "d")
		assert.Equal(t, document{}, u.Ask("portal.queue.move", one(runs[2], document{"before": runs[0]})))
		check("d", "B more", "c")
		assert.Equal(t, document{}, u.Ask("portal.queue.move", one(runs[2], nil)))
		check("B more", "c", "d")
		assert.Equal(t, document{"run_id": current}, other.Ask("portal.queue.send", one(runs[1], nil)))
		check("B more", "d")
		assert.Equal(t, document{"waiting": []any{
			document{"run_id": runs[0], "text": "B\nmore", "by": "ui"}, document{"run_id": runs[2], "text": "d", "by": "ui"},
		}}, u.Ask("portal.queue.list", document{"session_id": session}))
		assert.Equal(t, -32002, u.Ask("portal.queue.edit", one(runs[1], document{"text": "too late"}))["code"])
		assert.Equal(t, -32602, u.Ask("portal.queue.edit", one(runs[0], document{"text": " "}))["code"])
	})
}
