package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
)

func TestAFormThatIsFilledInWronglyDoesNotHoldTheRunUpForEver(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = asks(copilot.Question{Kind: copilot.AskForm, Form: form()})
		u := p.able("supports_forms")
		u.run("go")
		u.reply("portal.form.request", document{"ok": true, "fields": document{"name": "n", "size": "many", "kind": "a"}})
		time.Sleep(time.Hour)
		got := u.heard()
		again := strings.Count(strings.Join(got, "\n"), "portal.form.request") > 1
		assert.True(t, again || count(got, "status completed") == 1, "neither asked again nor decided: %q", got)
	})
}
