package rpc_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestQueuedPromptsAreListedAndChanged(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		id := a.create(document{})
		a.send(id, "a")
		synctest.Wait()
		b, c, d := a.send(id, "b"), a.send(id, "c"), a.send(id, "d")
		assert.Equal(a, document{"edited": true}, a.must("queue.edit", document{"sessionId": id, "messageId": b, "prompt": "B"}))
		assert.Equal(a, document{"moved": true}, a.must("queue.move", document{"sessionId": id, "messageId": d, "before": b}))
		assert.Equal(a, document{"moved": true}, a.must("queue.move", document{"sessionId": id, "messageId": b}))
		assert.Equal(a, document{"sent": true}, a.must("queue.send", document{"sessionId": id, "messageId": c}))
		assert.Equal(a, document{"prompts": []any{
			document{"messageId": d, "text": "d", "by": "rpc"}, document{"messageId": b, "text": "B", "by": "rpc"},
		}}, a.must("queue.list", document{"sessionId": id}))
		assert.Equal(a, document{"cancelled": true}, a.must("session.cancel", document{"sessionId": id, "messageId": d}))
		assert.Equal(a, document{"prompts": []any{document{"messageId": b, "text": "B", "by": "rpc"}}}, a.must("queue.list", document{"sessionId": id}))
		for method, params := range map[string]document{
			"queue.edit": {"sessionId": id, "messageId": c, "prompt": "too late"},
			"queue.move": {"sessionId": id, "messageId": b, "before": d},
			"queue.send": {"sessionId": id},
		} {
			code, _ := a.refused(method, params)
			assert.Equal(a, -32602, code, method)
		}
	})
}
