package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestABatchOfARunAndADetachIsAnswered(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		v, _, _ := p.lazy()
		_, session := u.run("a")
		synctest.Wait()
		v.in <- []byte(`[{"jsonrpc":"2.0","id":"x","method":"run.start","params":{"session_id":"` + session + `","input":{"type":"text","text":"b"}}},` +
			`{"jsonrpc":"2.0","id":"z","method":"portal.session.detach","params":{"session_id":"` + session + `"}}]`)
		time.Sleep(time.Hour)
		assert.Contains(t, v.heard(), "a batch")
	})
}
