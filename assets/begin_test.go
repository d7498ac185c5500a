package assets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// places notes where the composer and its chips are when they are first drawn, and sums up what moves later.
const places = `
globalThis.where = () => ["prompt", "send", "chip-directory", "model", "mode", "permissions"].map((name) => {
	const { x, y, width, height } = document.querySelector('[data-testid="' + name + '"]').getBoundingClientRect();
	return [name, x, y, width, height].join(" ");
}).join("\n");
globalThis.moved = [];
new PerformanceObserver((list) => {
	for (const { node, previousRect: was, currentRect: is } of list.getEntries().flatMap(({ sources }) => sources))
		if (document.querySelector("#view").contains(node)) moved.push([node.nodeName, node.className, node.textContent.slice(0, 30), was.x, was.y, was.height, is.x, is.y, is.height].join(" "));
}).observe({ type: "layout-shift", buffered: true });
(function look() {
	if (document.querySelector('[data-testid="model"]')?.value !== "") return requestAnimationFrame(look);
	globalThis.early = where();
})();`

func keepsItsPlace(t page) {
	dir := t.git()
	b := t.open("about:blank")
	b.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, pages.AddScriptToEvaluateOnNewDocument, pages.AddScriptToEvaluateOnNewDocumentParams{Source: places})
		return chromedp.Void{}, err
	})
	b.Do(chromedp.Navigate(t.portal.URL))
	b.WaitText(id("model"), "small (mine)")
	b.WaitText(".examples", "Run the tests and tell me")
	assert.Equal(t, b.Text("early"), b.Text("where()"), "when the models and the directory arrive")
	assert.Empty(t, b.Text(`moved.join("\n")`), "layout shifts")
	place := `String(document.querySelector(".try").getBoundingClientRect().y)`
	above := b.Text(place)
	b.Text(`document.querySelector('[data-testid="setup"] code').textContent = "/home/someone/.local/share/node/lib/node_modules/.bin/copilot login"`)
	assert.Equal(t, above, b.Text(place), "when the hint takes two lines")

	pick(b, id("model"), "demo") // another name, examples and a line about the account
	b.WaitText(".examples", "show markdown")
	inDirectory(b, dir)
	b.WaitText(id("chip-directory"), "wetland")
	assert.Equal(t, b.Text("early"), b.Text("where()"), "when other ones are chosen")
}

func attachesBeforeStart(t page) {
	dir, other := t.TempDir(), t.TempDir()
	t.file(dir, "src/heron.go", "package heron\n")
	t.file(other, "notes.md", "words of the notes")
	b := t.open(t.portal.URL)
	b.Type(id("prompt"), "/permissions al")
	b.WaitText(id("completion", "[role=option]"), "Allow everything")
	b.Press(kb.Enter)
	b.Wait(`document.querySelector('[data-testid="permissions"]').value === "all"`)
	b.Wait(written + ` === ""`)
	pick(b, id("model"), "demo")
	inDirectory(b, dir)
	b.Type(id("prompt"), "show request of @hrn")
	b.WaitText(id("completion", "[role=option]"), "heron.go")
	b.Press(kb.Enter)
	b.Wait(written + ` === "show request of @src/heron.go "`)
	b.Is(paste)
	b.Upload(id("files"), other+"/notes.md")
	b.WaitCount(".attached li", 2)
	pick(b, id("mode"), "autopilot")

	b.Do(chromedp.Reload()) // the draft survives; files do not
	b.Wait(written + ` === "show request of @src/heron.go "`)
	pick(b, id("permissions"), "edits")
	pick(b, id("model"), "demo")
	inDirectory(b, filepath.Join(dir, "gone"))
	b.Is(paste)
	b.WaitText(".attached", "pasted.txt")
	b.Press(kb.Enter)
	b.WaitText(id("problem"), "directory") // what could not be sent stays
	b.Wait(written + ` === "show request of @src/heron.go "`)
	b.WaitText(".attached", "pasted.txt")
	inDirectory(b, dir)
	b.Press(kb.Enter)
	idle(b, 1)
	for _, part := range []string{"show request of @src/heron.go", "heron.go", "pasted.txt"} {
		b.WaitText(id("answer"), part)
	}
	b.Wait(`document.querySelector('[data-testid="chip-permissions"]').value === "edits"`)
	b.Click(id("new-session"))
	b.Wait(written + ` === ""`)
}

func choosesDirectories(t page) {
	dir := t.TempDir()
	for _, name := range []string{"heronry/nest", "stork"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	t.portal.StartSession(filepath.Join(dir, "stork"), "permissions=allow")
	b := t.open(t.portal.URL)
	b.WaitText(id("sessions"), "stork")
	option := func(name string) string {
		return `#directories [role=option][title=` + literal(filepath.Join(dir, name)) + `]`
	}
	value := `document.querySelector("#directory").value`
	b.Click(id("chip-directory"))
	b.WaitText("#directories [role=group]", "Recent")
	assert.True(t, b.Is(`((menu) => menu.scrollHeight <= menu.clientHeight)(document.querySelector(".directory-menu"))`), "its button is in view without scrolling")
	b.Click(option("stork")) // a known one: the menu closes
	b.WaitGone(id("directory"))
	b.WaitText(id("chip-directory"), "stork")

	b.Click(id("chip-directory"))
	b.Type(id("directory"), "her") // beside the current one
	b.Click(option("heronry"))
	b.Wait(value + " === " + literal(filepath.Join(dir, "heronry")+"/"))
	b.Click(option("heronry/nest")) // browses
	b.Wait(value + " === " + literal(filepath.Join(dir, "heronry/nest")+"/"))
	b.WaitText(`#directories [title=`+literal(filepath.Join(dir, "heronry")+"/")+`]`, "..")
	b.Press(kb.ArrowDown)
	b.Press(kb.Enter) // up again
	b.Wait(value + " === " + literal(filepath.Join(dir, "heronry")+"/"))
	b.Click(id("favourite"))
	b.Wait(`document.querySelector('[data-testid="favourite"]').ariaPressed === "true"`)
	b.Click(id("use-directory"))
	b.WaitGone(id("directory"))
	b.WaitText(id("chip-directory"), "heronry")

	b.Do(chromedp.Reload())
	b.Click(id("chip-directory"))
	b.WaitText("#directories [role=group]", "Favourites")
	b.Click(`[aria-label="Favourites"] [role=option]`)
	b.WaitText(id("chip-directory"), "heronry")
	b.Click(id("chip-directory"))
	list := func(isHidden bool) string {
		return fmt.Sprintf(`document.querySelector("#directories").hidden === %t`, isHidden)
	}
	height := `document.querySelector(".directory-menu").offsetHeight`
	b.Wait(list(false))
	full := b.Text("String(" + height + ")")
	b.Press(kb.Escape)
	b.Wait(list(true))
	b.Wait(height + " === " + full) // the buttons below the list stay in place
	b.Press(kb.Escape)
	b.WaitGone(id("directory"))
	b.Click(id("chip-directory"))
	b.Click(id("favourite"))
	b.Wait(`localStorage.getItem("portal.favourites") === "[]"`)
}

// oneRow is true if the composer is one row, with its chips in one line below.
const oneRow = `(() => {
	const box = document.querySelector(".box").getBoundingClientRect(), chips = document.querySelector(".composer-chips").getBoundingClientRect();
	return box.height < 60 && chips.top >= box.bottom && chips.height < 60 && chips.right <= innerWidth;
})()`

func composesOnAPhone(t page) {
	dir := t.TempDir()
	b := t.open(t.portal.URL)
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.Wait(oneRow)
	pick(b, id("model"), "demo")
	inDirectory(b, dir)
	pick(b, id("permissions"), "all")
	b.Type(id("prompt"), lasting("one"))
	b.Click(id("send"))
	b.WaitText(id("tool"), "Running")
	b.Wait(oneRow)
	b.Type(id("prompt"), "say `steered`")
	for _, button := range []string{"stop", "steer", "send"} {
		b.Wait(`(({ width, height, right }) => width >= 40 && height >= 40 && right <= innerWidth)(document.querySelector('[data-testid="` + button + `"]').getBoundingClientRect())`)
	}
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
	b.Click(id("steer"))
	b.Wait(written + ` === ""`)
	b.WaitText(".prompt.steers", "say `steered`")
	t.file(dir, "one", "")
	idle(b, 1)
}
