package assets_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// evaluate returns the value of an expression in the page, and awaits a promise.
func evaluate[T any](tb testing.TB, b *portaltest.Browser, expression string) T {
	tb.Helper()
	ctx, cancel := context.WithTimeout(b.Context, 2*time.Minute)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(tb, err, "%.300s", expression)
	return value
}

// desktop and phone set the size of the window.
func desktop(b *portaltest.Browser) { b.Do(chromedp.EmulateViewport(1280, 900)) }

func phone(b *portaltest.Browser) {
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
}

// prefer sets media preferences: names and values in turn.
func prefer(b *portaltest.Browser, features ...string) {
	var list []*emulation.MediaFeature
	for i := 0; i+1 < len(features); i += 2 {
		list = append(list, &emulation.MediaFeature{Name: "prefers-" + features[i], Value: features[i+1]})
	}
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
		return err
	}))
}

// allowUntil allows the questions before the one with a text, such as whether the tool may be used.
func allowUntil(tb testing.TB, b *portaltest.Browser, text string) {
	tb.Helper()
	card := portaltest.ID("question")
	found := fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%s) && !document.querySelector(%q).textContent.startsWith("Use ")`, card, literal(text), card+" h2")
	for range 3 {
		b.Wait(fmt.Sprintf(`document.querySelector(%q)`, card))
		if evaluate[bool](tb, b, found) {
			return
		}
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(globalThis.allowed = document.querySelector(%q), 0)`, card)))
		b.Click(card + " " + portaltest.ID("allow"))
		b.Wait(`!allowed.isConnected`) // the next one may be shown already
	}
}
