package assets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// operation starts an operation with the form, and waits for its view.
func (t page) operation(b *portaltest.Browser, kind, dir, text, result string) {
	t.Helper()
	b.Click(fmt.Sprintf(`%s label:has(input[value=%q])`, id("kind"), kind))
	b.Click("details.more summary")
	pick(b, id("model"), "demo")
	b.Write(id("persist-path"), result)
	b.Is(fmt.Sprintf(`(() => { // typing it would take long
		const field = document.querySelector(%s);
		field.value = %s;
		return field.dispatchEvent(new Event("input", {bubbles: true}));
	})()`, literal(id("document")), literal(text)))
	b.Type(id("directory"), dir) // last: its completions cover the fields below
	b.Click(id("send"))
	b.Wait(`location.hash.startsWith("#/o/")`)
}

// logLines is the text of an operation's log entries.
const logLines = `[...document.querySelectorAll('[data-testid="log"] [data-type="execution"] .log-text')].map((line) => line.textContent).join("\n")`

func runsOperation(t page) {
	dir := t.TempDir()
	b := t.open(t.portal.URL + "/#/operations")
	t.operation(b, "clarify", dir, "# Orders\n\n- The import must be fast.\n", "notes/questions.md")
	other := t.open(b.Text("location.href"))
	for _, tab := range []*portaltest.Browser{b, other} {
		tab.WaitText(id("log", `[data-type="execution"]`), "The import must be fast")
		tab.WaitText(id("log", `[data-type="complete"]`), "Clarification complete")
		tab.WaitText(id("status"), "Completed")
		tab.WaitText(id("result", ".markdown"), "fast")
		tab.WaitText(id("result"), "Written to notes/questions.md")
		assert.False(t, tab.Is(`document.querySelector(".log-thinking details").open`), "thoughts are folded")
	}
	assert.Equal(t, b.Text(logLines), other.Text(logLines))
	written, err := os.ReadFile(filepath.Join(dir, "notes", "questions.md"))
	require.NoError(t, err)
	assert.Contains(t, string(written), "fast")

	b.Click(id("operations-link"))
	b.WaitText(id("operations", `[data-state="completed"]`), "Clarify")
	b.Click(id("operations", `[data-state="completed"]`))
	b.WaitText(id("log", `[data-type="complete"]`), "Clarification complete")
}

func watchesOperationOverUnstableConnection(t page) {
	const lines = 24
	var script, want strings.Builder
	for i := range lines {
		fmt.Fprintf(&script, "say `line %d\n\n` wait 150 ms ", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/operations")
	b.Outages()
	t.operation(b, "prompt", t.TempDir(), script.String(), "")
	for i := range 4 {
		b.WaitText(id("log"), fmt.Sprintf("line %d", 4+5*i))
		require.Eventually(t, func() bool { return wire.Drop() > 0 }, soon, tick)
	}
	b.WaitText(id("log", `[data-type="complete"]`), "complete")
	assert.Equal(t, strings.TrimSpace(want.String()), b.Text(logLines), "no line is lost or repeated")
}

func cancelsOperation(t page) {
	b := t.open(t.portal.URL + "/#/operations")
	t.operation(b, "prompt", t.TempDir(), "say `begun\n\n` wait 600 s", "")
	b.WaitText(id("log"), "begun")
	b.Click(id("stop"))
	b.WaitText(id("status"), "Cancelled")
	b.WaitText(id("log", `[data-type="complete"]`), "ancelled")
	b.WaitGone(id("stop"))
}
