package rpc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestForkEndsAtMessageAndMessageIsResent(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		first := a.must("session.send", document{"sessionId": id, "prompt": "one"})["messageId"]
		synctest.Wait()
		time.Sleep(time.Second)
		second := a.must("session.send", document{"sessionId": id, "prompt": "two"})["messageId"]
		synctest.Wait()
		var past [][]string
		a.agents.Script = func(t *fake.Turn) { past = append(past, append(t.Past, t.Prompt)) }
		for _, params := range []document{{"afterMessage": first}, {"beforeMessage": second}} {
			params["sessionId"] = id
			fork := a.must("session.fork", params)["sessionId"]
			a.must("session.send", document{"sessionId": fork, "prompt": "three"})
			synctest.Wait()
		}
		for _, params := range []document{{}, {"prompt": "edited"}} {
			params["sessionId"], params["messageId"] = id, second
			resent := a.must("session.resend", params)
			assert.Contains(a, resent["streamUrl"], resent["sessionId"])
			synctest.Wait()
		}
		assert.Equal(a, [][]string{{"one", "three"}, {"one", "three"}, {"one", "two"}, {"one", "edited"}}, past)
		forked := 0
		for _, s := range a.must("session.list", document{})["sessions"].([]any) {
			if from, ok := s.(document)["forkedFrom"].(document); ok {
				forked++
				assert.Equal(a, id, from["sessionId"])
			}
		}
		assert.Equal(a, 4, forked)
	})
}
