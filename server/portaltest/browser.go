package portaltest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Chromium is a headless browser with a fresh profile, for several tests.
type Chromium struct {
	context context.Context //nolint:containedctx // chromedp keeps the browser in it
}

// unused are features of Chromium that take time and that no test needs. The popups of the address bar start
// a renderer with each window, and Chromium starts a spare one for the next.
const unused = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess"

// StartChromium starts a browser that ends with the test. more are further options of its command line. It prefers the headless
// shell of Chromium, the same engine without the user interface, which takes a third less processor time; site-per-process gives
// it the processes that Chromium has.
func StartChromium(tb testing.TB, more ...chromedp.ExecAllocatorOption) *Chromium {
	tb.Helper()
	options := chromedp.DefaultExecAllocatorOptions[:]
	for _, flag := range []string{
		"no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	options = append(options, chromedp.Flag("disable-features", unused), chromedp.Flag("site-per-process", true))
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil {
		options = append(options, chromedp.ExecPath(path))
	}
	options = append(options, chromedp.WindowSize(1280, 900), chromedp.UserDataDir(tb.TempDir()))
	options = append(options, more...)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	first, end := chromedp.NewContext(allocator)
	tb.Cleanup(func() { end(); endAllocator() })
	if err := chromedp.Do(first); err != nil { // starts the browser, for as long as its first tab lives
		tb.Fatalf("Chromium did not start: %v", err)
	}
	return &Chromium{first}
}

// Browser is a tab that shares no cookies or other storage with other tabs. It fails its test if the console
// shows an error or a warning, or if a message between the page and /ui does not fit spec/ui.schema.json.
type Browser struct {
	Context context.Context //nolint:containedctx // chromedp keeps the tab in it

	t       testing.TB
	end     func()
	console sync.WaitGroup
	faults  []string    // of the console; complete once console is done
	outages atomic.Bool // whether the portal may be unreachable
	errors  atomic.Bool // whether errors on the console are expected
	frames  pageFrames
}

// Open opens an address in a new tab.
func (c *Chromium) Open(tb testing.TB, url string) *Browser {
	tb.Helper()
	tab, end := chromedp.NewContext(c.context, chromedp.WithNewBrowserContext())
	return open(tab, tb, end, url)
}

// OpenInProfile opens an address in a new tab that shares its storage with other tabs of this kind. Chromium
// follows hints to connect (preconnect, DNS prefetch) only in such tabs; those of [Chromium.Open] are private.
func (c *Chromium) OpenInProfile(tb testing.TB, url string) *Browser {
	tb.Helper()
	tab, end := chromedp.NewContext(c.context)
	return open(tab, tb, end, url)
}

func open(tab context.Context, tb testing.TB, end func(), url string) *Browser {
	tb.Helper()
	b := &Browser{Context: tab, t: tb, end: end}
	tb.Cleanup(b.Close)
	if err := chromedp.Do(tab); err != nil { // opens the tab, for as long as its context lives
		tb.Fatalf("no tab was opened: %v", err)
	}
	if err := b.frames.record(tab); err != nil {
		tb.Fatalf("the messages of the page cannot be recorded: %v", err)
	}
	messages := chromedp.Console(tab)
	b.console.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type != chromedp.ConsoleError && m.Type != chromedp.ConsoleWarning && !m.IsException() {
				continue
			}
			if b.errors.Load() {
				continue
			}
			if !b.outages.Load() || !isOutage(m.String()) {
				b.faults = append(b.faults, m.String()+" "+m.URL)
			}
		}
	})
	b.Do(chromedp.Navigate(url))
	return b
}

// Close closes the tab before the test ends. It may be called repeatedly.
func (b *Browser) Close() {
	b.end()
	b.console.Wait()
	b.frames.check(b.t)
	if len(b.faults) > 0 {
		b.t.Errorf("errors on the console:\n%s", strings.Join(b.faults, "\n"))
		b.faults = nil
	}
}

// Outages allows messages of the browser that it cannot reach the portal.
func (b *Browser) Outages() { b.outages.Store(true) }

// IgnoreConsole allows errors on the console, as on a page that the portal refuses.
func (b *Browser) IgnoreConsole() { b.errors.Store(true) }

func isOutage(message string) bool {
	return strings.Contains(message, "net::ERR_") || strings.Contains(message, "WebSocket connection to ") ||
		strings.Contains(message, "An unknown error occurred when fetching the script.") // the service worker's
}

// patience is the time limit of each step on a busy machine.
const patience = 2 * time.Minute

// Do executes steps, which together may take two minutes.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail(err)
	}
}

// shown is the text of a page without its list of sessions, which is long when tests share a portal, and what has the focus.
const shown = `[...document.querySelectorAll("body > :not(.rail)")].map((part) => part.innerText).join("\n").trim() + "\nfocus: " + document.activeElement?.outerHTML.slice(0, 200)`

func (b *Browser) fail(err error) {
	b.t.Helper()
	text, _ := chromedp.Run(b.Context, chromedp.Evaluate[string](shown)) // for the message only
	b.t.Fatalf("the browser: %v; the page:\n%s", err, text)
}

// ID selects an element by its data-testid.
func ID(id string) string { return `[data-testid="` + id + `"]` }

// Click waits until an element can be clicked and clicks it. It clicks again if the element has moved away meanwhile, as rows of
// a list do.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	for missed := true; missed; {
		b.waitUsable(selector)
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(watchClick, selector)), chromedp.Click(chromedp.CSS(selector)))
		var err error
		missed, err = chromedp.Run(b.Context, chromedp.Evaluate[bool](`window.missed === true`))
		missed = missed && err == nil // it fails if the click has opened another page
	}
}

// watchClick notes whether the next click misses an element and what covers it.
const watchClick = `((e) => {
	if (!e) return;
	const target = window.lastHit.contains(e) ? window.lastHit : e;
	window.missed = false;
	const note = (event) => { window.missed = target.isConnected && !target.contains(event.target); };
	addEventListener("click", note, { capture: true, once: true });
})(document.querySelector(%q))`

// Type replaces the content of a field in one step, like pasting. Keys would be three events per character.
func (b *Browser) Type(selector, text string) {
	b.t.Helper()
	b.waitUsable(selector)
	choose := fmt.Sprintf(`((field) => { field.focus(); field.select(); })(document.querySelector(%q))`, selector)
	b.Do(chromedp.Evaluate[chromedp.Void](choose), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	})
}

// waitUsable waits until an element is visible and enabled, has kept its place since the last check, and would get a click on
// its center. It waits in the page, because chromedp would poll 200 times a second.
func (b *Browser) waitUsable(selector string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(isUsable, selector))
}

const isUsable = `((e) => {
	if (!e?.getClientRects().length || e.disabled) return false;
	e.scrollIntoViewIfNeeded();
	const { x, y, width, height } = e.getBoundingClientRect();
	const place = [x, y, width, height].join();
	const isSettled = window.lastPlace === place;
	window.lastPlace = place;
	const hit = document.elementFromPoint(x + width / 2, y + height / 2);
	window.lastHit = hit;
	return isSettled && hit !== null && (e.contains(hit) || hit.contains(e));
})(document.querySelector(%q))`

// WaitText waits until a matching element contains a text.
func (b *Browser) WaitText(selector, part string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, part))
}

// WaitGone waits until no matching element is visible.
func (b *Browser) WaitGone(selector string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`![...document.querySelectorAll(%q)].some(e => e.offsetParent !== null)`, selector))
}

// attempt is a condition that is false while something it reads does not exist yet.
const attempt = `(() => {
	try {
		return %s;
	} catch (error) {
		if (error instanceof TypeError) return false;
		throw error;
	}
})()`

// wait polls by time, because a tab in the background has no animation frames. It starts again if the page navigates meanwhile.
func (b *Browser) wait(predicate string) {
	b.t.Helper()
	predicate = fmt.Sprintf(attempt, predicate)
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	for {
		err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](predicate, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0))) // ctx has the limit
		switch {
		case err == nil:
			return
		case !hasNavigated(err):
			b.fail(err)
		}
	}
}

// hasNavigated reports whether an expression was not evaluated because the page navigated before or meanwhile.
func hasNavigated(err error) bool {
	return strings.Contains(err.Error(), "Cannot find context with specified id") || strings.Contains(err.Error(), "Inspected target navigated or closed")
}
