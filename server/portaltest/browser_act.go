package portaltest

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Press presses a key in the focused element, as in Press(kb.Enter, kb.ModifierCtrl).
func (b *Browser) Press(key string, modifiers ...kb.Modifier) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(key, chromedp.KeyModifiers(modifiers...), whole))
}

// whole combines a key press and its character into one event, as a keyboard does: a page that handles the
// key does not get the character.
func whole(k *input.DispatchKeyEventParams) {
	const none = int64(kb.ModifierAlt | kb.ModifierCtrl | kb.ModifierMeta)
	switch {
	case k.Type == kb.KeyChar:
		k.Modifiers |= none // omits the event
	case k.Type == kb.KeyDown && k.Modifiers&none == 0:
		if len(k.Key) == 1 {
			k.Text = k.Key
		} else if k.Key == "Enter" {
			k.Text = "\r"
		}
	}
}

// PressUntil presses a key repeatedly until an expression is true, for elements that ignore keys at first
// because the user may have meant another element.
func (b *Browser) PressUntil(key, expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		b.Press(key)
		for range 15 { // before it is pressed once more
			if b.Is(expression) {
				return
			}
			pause()
		}
	}
	b.t.Fatalf("pressing %q did not make %s true", key, expression)
}

// Write types keys into a field.
func (b *Browser) Write(selector, text string) {
	b.t.Helper()
	b.waitUsable(selector)
	b.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Upload chooses files in a field for files, which may be hidden. It names the field by a reference of the page: the ids that
// chromedp's queries use end when the document changes.
func (b *Browser) Upload(selector string, files ...string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
	b.Do(func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
		field, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprintf(`document.querySelector(%q)`, selector)})
		if err != nil {
			return none, err
		}
		_, err = cdp.Call(ctx, t, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, ObjectID: field.Result.ObjectID})
		return none, err
	})
}

// Is evaluates a condition in the page.
func (b *Browser) Is(expression string) bool {
	b.t.Helper()
	return evaluate[bool](b, expression)
}

// Text evaluates a string expression in the page.
func (b *Browser) Text(expression string) string {
	b.t.Helper()
	return evaluate[string](b, expression)
}

// Wait waits until an expression is true in the page.
func (b *Browser) Wait(expression string) { b.t.Helper(); b.wait(expression) }

// WaitValue waits until fits accepts the value of a string expression. It fails with why and the last value.
func (b *Browser) WaitValue(expression string, fits func(text string) bool, why string) {
	b.t.Helper()
	text := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause() {
		if text = b.Text(expression); fits(text) {
			return
		}
	}
	b.t.Fatalf("%s\nThe last value is:\n%s", why, text)
}

// WaitCount waits until n elements match.
func (b *Browser) WaitCount(selector string, n int) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`document.querySelectorAll(%q).length === %d`, selector, n))
}

func evaluate[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("the browser: %v of %s", err, expression)
	}
	return value
}

// pause waits before the next check.
func pause() { <-time.After(20 * time.Millisecond) }
