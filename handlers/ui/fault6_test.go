package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestACompactionWithoutAPromptIsNotRefusedBecauseTheUIToldWhereTheUserWorks(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		u.run("hello")
		synctest.Wait()
		u.ask("ui.context.update", document{"cwd": "/tmp"})
		r := u.ask("run.start", document{"input": text(""), "force_compaction": true})
		assert.Contains(t, r, "run_id", "%v", r)
	})
}
