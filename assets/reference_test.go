package assets_test

import "github.com/stretchr/testify/assert"

func triesRequests(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=deny")
	b := t.open(t.portal.URL + "/#/status")
	b.Click(id("reference-link"))
	entry := func(name, part string) string { return `[data-id="` + name + `"] ` + part }

	b.Click(entry("getHealth", "summary"))
	b.Click(entry("getHealth", id("reference-send")))
	b.WaitText(entry("getHealth", id("reference-status")), "200")
	b.WaitText(entry("getHealth", id("reference-output")), `"agent": {`)

	b.Type(id("reference-search"), "live reader")
	b.WaitGone(entry("getHealth", "summary"))
	b.Click(entry("pollSessionAsReader", "summary"))
	b.Type(entry("pollSessionAsReader", `[name="id"]`), session)
	b.Type(entry("pollSessionAsReader", `[name="token"]`), "no such reader")
	b.Click(entry("pollSessionAsReader", id("reference-send")))
	b.WaitText(entry("pollSessionAsReader", id("reference-output")), "error")

	b.Type(id("reference-search"), "session.list")
	b.Click(entry("session.list", "summary"))
	b.Click(entry("session.list", id("reference-send")))
	b.WaitText(entry("session.list", id("reference-output")), session)
	assert.Contains(t, b.Text(`document.querySelector('[data-id="session.list"] textarea').value`), `"method": "session.list"`)

	b.Type(id("reference-search"), "nothing has this")
	b.WaitText(id("reference-list"), "Nothing matches.")
}
