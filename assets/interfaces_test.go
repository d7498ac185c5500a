package assets_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/spec"
	"github.com/copilot-portal/portal/server/portaltest"
)

// herons starts an API on this machine, and returns its description.
func herons(t *testing.T, title, description string) (text string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		assert.Empty(t, r.Header.Get("Cookie"))
		assert.Empty(t, r.Header.Get("Origin"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"name": "Grey heron", "path": "` + r.URL.Path + `"}]`))
	}))
	t.Cleanup(s.Close)
	operation := map[string]any{"responses": map[string]any{"200": map[string]any{"description": "OK"}}, "tags": []string{"Birds"}}
	raw, err := json.Marshal(map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": title, "version": "1", "description": description},
		"servers": []any{map[string]any{"url": s.URL + "/v1"}},
		"paths":   map[string]any{"/herons": map[string]any{"get": operation}, "/nests": map[string]any{"get": operation}},
	})
	require.NoError(t, err)
	return string(raw), calls
}

// makes drops a description and waits for the view of its interface.
func makes(b *portaltest.Browser, name, text string) {
	b.Wait(`document.querySelector('[data-testid="drop"]') !== null`)
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		data.items.add(new File([` + literal(text) + `], ` + literal(name) + `));
		document.querySelector('[data-testid="drop"]').dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
	})()`))
	b.Wait(`location.hash.startsWith("#/i/")`)
}

const shownInFrame = `document.querySelector('[data-testid="frame"]')?.dataset.state === "shown"`

// changesInterfaces runs tests one after another in a portal with their own list of interfaces.
func changesInterfaces(t page) {
	t = t.own()
	t.Run("creates and uses an interface", func(sub *testing.T) { createsInterface(subpage(sub, t)) })
	t.Run("keeps what is written about an interface", func(sub *testing.T) { keepsTextAboutInterface(subpage(sub, t)) })
}

func createsInterface(t page) {
	b := t.open(t.portal.URL + "/#/interfaces")
	desktop(b)
	text, calls := herons(t.T, "Herons", "Where herons are.")
	makes(b, "herons.json", text)
	b.Wait(shownInFrame)
	b.WaitText(id("title"), "Herons")
	assert.True(t, b.Is(`document.querySelector("iframe").sandbox.value === "allow-scripts"`))
	in := inFrame(t.T, b)
	in.wait(`document.body.innerText.includes("/herons") && document.body.innerText.includes("/nests")`)

	in.do(`document.querySelector("summary").click()`)
	in.do(`[...document.querySelectorAll("details[open] button")].find((one) => one.textContent === "Send").click()`)
	b.WaitText(id("permission"), "on this machine")
	assert.Zero(t, calls.Load(), "no call without permission")
	b.Click(id("allow"))
	in.wait(`document.querySelector("td")?.innerText.includes("Grey heron")`)
	in.wait(`document.body.innerText.includes("/v1/herons")`)
	assert.EqualValues(t, 1, calls.Load())
	b.WaitText(id("allowed"), "/v1")

	b.Write(id("prompt"), "Make it compact and dark")
	b.Click(id("send"))
	b.WaitCount(id("versions", "> li"), 2)
	b.Wait(shownInFrame)
	b.WaitText(`[data-version="2"]`, "Make it compact and dark")
	b.Click(`[data-version="2"] [data-act="compare"]`)
	b.WaitText(id("diff"), "dark")
	b.Do(chromedp.KeyEvent("\x1b"))
	b.Click(`[data-version="1"] [data-act="back"]`)
	b.Wait(`document.querySelector('[data-version="1"]').ariaCurrent === "true" && ` + shownInFrame)

	b.Write(id("prompt"), "Add a search to the table")
	b.Click(id("send"))
	b.Wait(`document.querySelector('[data-testid="question"]:not([hidden])') !== null || document.querySelectorAll('[data-version]').length === 3`)
	const versions = `document.querySelector('[data-testid="versions"]').innerText.replace(/^(now|\d+ min)$/gm, "a time")`
	before := b.Text(versions)
	b.Do(chromedp.Reload())
	b.Wait(shownInFrame)
	assert.Equal(t, before, b.Text(versions))
	b.Click(id("delete"))
	b.Click(`dialog[open] button[type="submit"]`)
	b.Wait(`location.hash === "#/interfaces"`)
	b.WaitText(id("empty"), "No interfaces yet.")
}

// The interface of every description shows all its operations.
func makesInterfaceOfEveryDescription(t page) {
	folder, all := filepath.Join("..", "jobs", "studio", "spec", "testdata"), 0
	for _, name := range []string{"films.graphql", "forge.json", "media.yaml", "pets.yaml", "shop.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		described, err := spec.Read(name, text)
		require.NoError(t, err)
		b := t.open(t.portal.URL + "/#/interfaces") // fails on console errors
		makes(b, name, string(text))
		b.Wait(shownInFrame)
		in := inFrame(t.T, b)
		in.wait(`document.querySelector("summary")`)
		shown := in.text(`document.body.innerText`)
		for o := range described.Operations() {
			all++
			assert.Contains(t, shown, o.ID, "%s", name)
		}
		assert.True(t, b.Is(`document.querySelector('[data-testid="trouble"]').hidden`))
		assert.Empty(t, in.end(), "the console of the frame has no faults")
		b.Close()
	}
	assert.Greater(t, all, 60)
}

// listener counts connections to a port, and those that send something.
func listener(t *testing.T) (address string, came, spoke *atomic.Int32) {
	t.Helper()
	came, spoke = &atomic.Int32{}, &atomic.Int32{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			conns.Go(func() {
				defer conn.Close()
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // TCP supports deadlines
				if n, _ := conn.Read(make([]byte, 1)); n > 0 {
					spoke.Add(1)
				}
			})
		}
	})
	return strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1), came, spoke
}
