package assets_test

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// checkActions checks the queue, the actions of messages, and what they open.
func checkActions(a access) {
	dir := a.TempDir()
	image := filepath.Join(a.TempDir(), "heron.png")
	require.NoError(a, os.WriteFile(image, []byte(pixel), 0o600))
	session := a.portal.StartSession(dir, "permissions=allow&interactive=true")
	b := a.page("/#/s/" + session)
	b.Wait(there)
	b.Upload(id("files"), image)
	b.WaitCount(".attached li", 1)
	send(b, "say `seen`")
	idle(b, 1)
	send(b, lasting("go"))
	b.WaitText(id("tool"), "Running")
	for _, text := range []string{"say `a`", "say `b`"} {
		send(b, text)
		b.WaitText(id("queue"), text)
	}
	a.checkSizes(b, "a queue")
	b.Click(id("queue", "li:first-child", id("queue-edit")))
	b.Wait(`document.querySelector('[data-testid="queue-text"]').value !== ""`)
	a.checkSizes(b, "a queued prompt that is edited")
	b.Press(kb.Escape)
	b.WaitGone(id("queue-text"))

	for _, place := range []string{id("prompt-block"), id("end")} {
		more := nth(place, 0) + `.querySelector('[data-testid="more"]')`
		b.Wait(more + ` != null`)
		b.Is(more + `.focus() === undefined`)
		b.Press(kb.Enter)
		b.Wait(`document.querySelector(".menu:popover-open") !== null`)
		a.check(b, "the actions of "+place)
		b.Press(kb.Escape)
		b.WaitGone(id("menu"))
	}
	b.Click(id("thumbnail"))
	b.Wait(`document.querySelector('[data-testid="image-dialog"] > img').naturalWidth > 0`)
	a.checkSizes(b, "an image")
	b.Press(kb.Escape)
	b.WaitGone(id("image-dialog"))
	require.NoError(a, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	idle(b, 4)
}
