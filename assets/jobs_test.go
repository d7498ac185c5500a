package assets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// countSockets counts the WebSockets that a page opens.
const countSockets = `globalThis.opened = 0; { const Plain = WebSocket; globalThis.WebSocket = class extends Plain { constructor(...of) { super(...of); opened++; } }; }`

// states are the states of the tasks in the chart.
const states = `[...document.querySelectorAll('[data-testid="chart"] .task')].map((task) => task.dataset.task + " " + task.querySelector(".state").textContent).join("\n")`

// of selects a task in the chart.
func of(task, state string) string {
	return fmt.Sprintf(`[data-testid="chart"] .task[data-task=%q][data-state=%q]`, task, state)
}

// A job in which three sessions run at the same time, with the real CLI.
func watchesJob(t page) {
	t = t.own() // whose only model answers
	b := t.open("about:blank")
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: countSockets})
		return err
	}))
	desktop(b)
	b.Do(chromedp.Navigate(t.portal.URL + "/#/jobs"))
	dir := filepath.Join(t.TempDir(), shortDirectory)
	require.NoError(t, os.Mkdir(dir, 0o700))
	startsRefine(b, dir)
	for _, task := range reviewers {
		b.Wait(`document.querySelector(` + literal(of(task, "Running")) + `) !== null`)
	}
	b.Wait(fmt.Sprintf(`document.querySelectorAll(%q).length === 3`, `[data-testid="chart"] .task[data-state="Running"]`))
	b.WaitCount(id("sessions-of", "li"), 3)
	t.selectsTask(b)
	assert.InDelta(t, 1, evaluate[int](t.T, b, "opened"), 0, "one connection for everything")

	b.Click(id("cancel"))
	b.WaitText(id("status"), "Canceled")
	b.WaitText(id("announcement"), "refine was canceled.")
	b.WaitGone(id("cancel"))
	b.Wait(`document.querySelector('[data-testid="chart"] .task[data-state="Running"]') === null`)
	first := b.Text("location.hash")
	b.Click(id("continue"))
	b.Wait("location.hash !== " + literal(first))
	b.WaitText(of("draft", "Succeeded"), "Already done")
	b.WaitText(id("status"), "Running")
	t.file(dir, "go", "")
	b.WaitText(id("status"), "Succeeded")
	before := b.Text(states)
	assert.InDelta(t, 1, evaluate[int](t.T, b, "opened"), 0)
	b.Do(chromedp.Reload())
	b.WaitText(id("status"), "Succeeded")
	b.Wait(states + " === " + literal(before))

	b.Click(id("jobs-link"))
	b.WaitText(id("jobs"), shortMarkup)
	b.WaitCount(id("jobs", "li"), 2)
	assert.False(t, b.Is("globalThis.hit === 1 || document.querySelector('main img') !== null"), "foreign markup is text")
}

const shortDirectory = "orders"

var reviewers = []string{"review-correctness", "review-completeness", "review-clarity"}

// waitsAfterDraft is a command that waits for the file go, but not in the first task.
const waitsAfterDraft = "mkdir drafted || while [ ! -e go ]; do sleep 0.05; done"

// startsRefine starts the job from the grid.
func startsRefine(b *portaltest.Browser, dir string) {
	b.Click(`.permission:has(input[value="refine"])`)
	needs := `document.querySelector('[data-testid="send"]').disabled`
	b.Wait(needs) // the job requires input
	b.Write(id("input"), shortMarkup+" say `I look at herons.` run `"+waitsAfterDraft+"`")
	b.Type(id("directory"), dir)
	b.Click(id("send"))
	b.Wait(`location.hash.startsWith("#/j/")`)
	b.WaitText(id("title"), "refine")
}

// selectsTask selects a task in the chart and checks its session.
func (t page) selectsTask(b *portaltest.Browser) {
	t.Helper()
	b.Do(chromedp.Focus(chromedp.CSS(of("review-clarity", "Running"))))
	b.Press("\r")
	b.WaitText(id("sessions-of", "h2"), "Sessions of review-clarity")
	b.WaitCount(id("sessions-of", "li"), 1)
	b.WaitText(id("sessions-of", ".session-lines"), "herons")
}

// simple is a job book without a grid.
const simple = `
models: {driving: ""}
tasks:
  count: {requireUserInput: true, prompt: [$user-input]}
jobs:
  count: {work: {kind: Ref, taskId: count}}
`

// A click opens a card although its lines change during the click.
func opensCardThatChanges(t page) {
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	require.NoError(t, os.WriteFile(file, []byte(simple), 0o600))
	t = t.own("--jobs", file)
	b := t.open(t.portal.URL + "/#/jobs")
	b.WaitCount(id("grid", "input"), 1)
	b.WaitText(id("grid"), "count")
	b.Write(id("input"), "600 tokens in 60 s wait 600 s")
	b.Click(id("send"))
	b.WaitText(id("sessions-of", ".session-lines p"), "w3")

	x, y := evaluate[float64](t.T, b, middle("left", "width")), evaluate[float64](t.T, b, middle("top", "height"))
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	before := b.Text(lastLine)
	b.Wait(lastLine + " !== " + literal(before))
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.Wait(`location.hash.startsWith("#/s/")`)
	b.Wait(there)
	before = b.Text(saying)
	b.Wait(saying + " !== " + literal(before)) // the card no longer has it, but the page follows it
	b.Click(id("stop"))
}

const lastLine = `document.querySelector('[data-testid="sessions-of"] .session-lines p:last-of-type').textContent`

// middle is a coordinate of the middle of the last line.
func middle(from, size string) string {
	return fmt.Sprintf(`(() => { const box = document.querySelector('[data-testid="sessions-of"] .session-lines p:last-of-type').getBoundingClientRect(); return box.%s + Math.min(box.%s, 16) / 2; })()`, from, size)
}
