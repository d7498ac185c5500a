package assets_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// user counts what a person does: a click or tap, a key, a text.
type user struct {
	*portaltest.Browser
	actions int
}

func (u *user) click(selector string) {
	u.actions++
	u.Click(selector)
}

func (u *user) press(key string, modifiers ...kb.Modifier) {
	u.actions++
	u.Press(key, modifiers...)
}

// write writes into a field that has the focus.
func (u *user) write(name, text string) {
	u.actions++
	u.Wait(`document.activeElement.matches(` + literal(id(name)) + `)`)
	u.Write(id(name), text)
}

// act uses a button that shows while the mouse is over the last block of a kind.
func (u *user) act(t page, block, action string) {
	element := `[...document.querySelectorAll(` + literal(id(block)) + `)].at(-1)`
	u.Do(chromedp.Evaluate[chromedp.Void](element + `.scrollIntoView({block: "center"})`))
	t.hover(u.Browser, element)
	u.click(id(block) + " " + id(action))
}

// tasks are what people do every day, by their names in spec/page.md. Each begins where it occurs, with the session in view if it is about one.
var tasks = map[string]func(page) *user{
	"Start a session in another project": func(t page) *user {
		other := t.TempDir()
		t.portal.StartSession(other, "permissions=ask")
		u := &user{Browser: t.visit(t.portal.StartSession(t.TempDir(), "permissions=ask"))}
		u.Is(withMouse)
		link := id("new-in-project") + `[href$=` + literal(url.QueryEscape(other)) + `]`
		t.hover(u.Browser, `document.querySelector(`+literal(link)+`)`)
		u.click(link)
		pick(u.Browser, id("model"), "demo") // usually it is what was used before
		u.WaitText(id("chip-directory"), filepath.Base(other))
		u.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
		u.write("prompt", "say `heron`")
		u.press(kb.Enter)
		idle(u.Browser, 1)
		u.WaitText(".subtitle", filepath.Base(other))
		return u
	},
	"Find last week's session by a word in an answer": func(t page) *user {
		session := t.portal.StartSession(t.TempDir(), "permissions=ask")
		for _, prompt := range []string{"say `weir`", "say `zygodactyl`", "say `pond`"} {
			t.portal.Run(session, prompt)
		}
		u := &user{Browser: t.open(t.portal.URL)}
		u.WaitText(row(session, ".row-title"), "weir")
		u.click(id("search"))
		u.write("search", "zygodactyl")
		u.WaitText(row(session, "mark"), "zygodactyl")
		u.press(kb.Enter)
		u.Wait(hit(session, "zygodactyl"))
		return u
	},
	"Approve a command from a phone": func(t page) *user {
		session := t.portal.StartSession(t.TempDir(), "permissions=ask")
		t.portal.Query(session, "run `echo heron`")
		u := &user{Browser: t.open("about:blank")}
		phone(u.Browser)
		u.Do(chromedp.Navigate(t.portal.URL))
		u.click(id("waiting"))
		u.click(id("allow"))
		idle(u.Browser, 1)
		u.WaitText(id("answer"), "heron")
		return u
	},
	"Revert one file of a run": func(t page) *user {
		dir := t.TempDir()
		t.file(dir, "a.txt", "one\n")
		u := t.after(dir, "edit `a.txt` `one` `two` and write `b.txt` `new`")
		u.click(id("review"))
		u.click(change("a.txt", ".change-line .change-act"))
		u.WaitText(change("a.txt", ".change-note"), "Reverted")
		assert.Equal(t, "one\n", content(t.T, dir, "a.txt"))
		return u
	},
	"Retry the last answer with another model": func(t page) *user {
		u := t.after(t.TempDir(), "say `heron`")
		u.act(t, "end", "more")
		u.click(id("action-retry-model"))
		u.click(id("model-choice") + `[title="mine/small"]`)
		u.Wait(`document.querySelector('[data-testid="chip-model"]')?.value === "mine/small"`)
		return u
	},
	"Change an earlier prompt and send it again": func(t page) *user {
		u := t.after(t.TempDir(), "say `heron`")
		u.act(t, "prompt-block", "bar-edit")
		u.write("edit-text", " and recall")
		u.press(kb.Enter)
		u.WaitText(id("origin"), "Forked from")
		idle(u.Browser, 1)
		return u
	},
	"Add a remark to a run that works": func(t page) *user {
		session := t.portal.StartSession(t.TempDir(), "permissions=ask")
		t.portal.Query(session, "500 tokens in 2 s and wait 600 s")
		u := &user{Browser: t.visit(session)}
		u.WaitText(id("status"), "Working")
		u.click(id("prompt"))
		u.write("prompt", "say `egret`")
		u.press(kb.Enter, kb.ModifierCtrl)
		u.WaitText(".prompt.steers", "egret")
		u.Click(id("stop"))
		return u
	},
	"Copy an answer": func(t page) *user {
		u := t.after(t.TempDir(), "say `**heron**`")
		u.Is(listen)
		u.act(t, "end", "bar-copy")
		u.Wait(`globalThis.copied === "heron"`)
		return u
	},
	"Let a colleague read the session": func(t page) *user {
		u := t.after(t.TempDir(), "say `heron`")
		u.click(`#rail [aria-current="page"] ~ .row-more`)
		u.click(id("menu-share"))
		u.click(id("share-create"))
		u.Wait(`document.querySelector('[data-testid="share-address"]')?.value.includes("/s/")`)
		u.Is(listen)
		u.click(id("share-copy"))
		u.Wait(`globalThis.copied?.includes("/s/")`)
		return u
	},
	"Open the line of a file that the agent names": func(t page) *user {
		dir := t.TempDir()
		t.file(dir, "main.go", "package main\n\nfunc main() {}\n")
		u := t.after(dir, "say "+fence("See `main.go:3`."))
		u.click(id("answer", ".path-link"))
		u.Wait(targetLine + ` === "3"`)
		return u
	},
}

// after opens a new session after a run, for a person with a mouse and a wide screen.
func (t page) after(dir, prompt string) *user {
	t.Helper()
	session := t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(session, prompt)
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.Is(withMouse)
	idle(b, 1)
	return &user{Browser: b}
}

// listed matches a task in spec/page.md, with the number of its actions.
var listed = regexp.MustCompile(`(?m)^\| ([A-Z][^|]*) \| (\d+) \|$`)

func takesFewActions(t page) {
	t.portal = startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: second})
	text, err := os.ReadFile(filepath.Join("..", "spec", "page.md"))
	require.NoError(t, err)
	found := listed.FindAllStringSubmatch(string(text), -1)
	require.Len(t, found, len(tasks))
	for _, line := range found {
		t.Run(line[1], func(sub *testing.T) {
			sub.Parallel()
			do := tasks[line[1]]
			require.NotNil(sub, do)
			assert.Equal(sub, line[2], strconv.Itoa(do(subpage(sub, t)).actions))
		})
	}
}
