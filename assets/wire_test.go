package assets_test

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/copilot-portal/portal/server/portaltest"
)

// tap lets a test decide about the calls of a page, by method: failing[method] of them fail, those of methods in holding wait for release(),
// which returns their number, and so do responses to those in keeping. release(method) releases those of a method. answered counts responses,
// kept or not, and inject delivers a message as if the portal had sent it.
const tap = `
globalThis.failing = {};
globalThis.holding = new Set();
globalThis.keeping = new Set();
globalThis.answered = {};
let held = [];
globalThis.release = (method) => {
	const isReleased = (of) => method === undefined || of === method;
	for (const methods of [holding, keeping]) for (const of of methods) if (isReleased(of)) methods.delete(of);
	const released = held.filter(([of]) => isReleased(of));
	held = held.filter(([of]) => !isReleased(of));
	for (const [, pass] of released) pass();
	return released.length;
};
globalThis.WebSocket = class extends WebSocket {
	#asked = new Map();
	constructor(url) {
		super(url);
		globalThis.inject = (message) => this.onmessage({ data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
		this.addEventListener("message", (event) => {
			const { id, method } = JSON.parse(event.data);
			const asked = this.#asked.get(id);
			if (method !== undefined || asked === undefined) return;
			answered[asked] = (answered[asked] ?? 0) + 1;
			if (!keeping.has(asked)) return;
			event.stopImmediatePropagation();
			held.push([asked, () => this.onmessage({ data: event.data })]);
		});
	}
	send(text) {
		const { id, method } = JSON.parse(text);
		if (failing[method] > 0) {
			failing[method]--;
			return void setTimeout(inject, 0, { id, error: { code: -32603, message: "The disk is full." } });
		}
		if (method !== undefined) this.#asked.set(id, method);
		if (holding.has(method)) held.push([method, () => super.send(text)]);
		else super.send(text);
	}
};`

// openTapped opens an address with the script tap, after which more is run before the page starts.
func (t page) openTapped(url, more string) *portaltest.Browser {
	t.Helper()
	b := t.open("about:blank")
	b.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, pages.AddScriptToEvaluateOnNewDocument, pages.AddScriptToEvaluateOnNewDocumentParams{Source: tap + more})
		return chromedp.Void{}, err
	})
	b.Do(chromedp.Navigate(url))
	return b
}

// failsOnce is a script after which the next call of a method fails.
func failsOnce(method string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("failing[" + literal(method) + "] = 1")
}

// holds is a script after which calls of a method wait for release().
func holds(method string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("void holding.add(" + literal(method) + ")")
}

// keeps is a script after which responses to a method wait for release().
func keeps(method string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("void keeping.add(" + literal(method) + ")")
}

// goTo opens an address of the page in the same tab.
func goTo(address string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("location.hash = " + literal(address))
}

// released ends what holds began.
var released = chromedp.Evaluate[chromedp.Void]("release()")
