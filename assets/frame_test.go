package assets_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inside is the document in the frame of an interface, which runs in its own process.
type inside struct {
	*testing.T
	b *portaltest.Browser

	mu     sync.Mutex
	known  map[target.ID]context.Context
	faults []string // of the consoles; complete after end
	heard  sync.WaitGroup
	ends   []func()
}

func inFrame(t *testing.T, b *portaltest.Browser) *inside {
	t.Helper()
	i := &inside{T: t, b: b, known: map[target.ID]context.Context{}}
	t.Cleanup(func() { i.end() })
	return i
}

// end returns the console faults of all frames so far.
func (i *inside) end() []string {
	for _, end := range i.ends {
		end()
	}
	i.ends = nil
	i.heard.Wait()
	return i.faults
}

// frame returns the current frame.
func (i *inside) frame() (context.Context, bool) {
	all, err := chromedp.Targets(i.b.Context)
	require.NoError(i, err)
	own := chromedp.FromContext(i.b.Context).BrowserContextID
	for _, one := range all {
		if one.Type != "iframe" || one.BrowserContextID != own || !strings.HasSuffix(one.URL, "/frame.html") {
			continue
		}
		if i.known[one.TargetID] == nil {
			i.attach(one.TargetID)
		}
		ctx := i.known[one.TargetID]
		return ctx, ctx != nil
	}
	return nil, false
}

// attach records the console of a frame from now on. The next call of frame returns it.
func (i *inside) attach(id target.ID) {
	ctx, end := chromedp.NewContext(i.b.Context, chromedp.WithTargetID(id))
	i.ends = append(i.ends, end)
	if chromedp.Do(ctx) != nil {
		return // the frame was removed
	}
	i.known[id] = ctx //nolint:fatcontext // one per frame
	messages := chromedp.Console(ctx)
	i.heard.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				i.record(m.String())
			}
		}
	})
}

func (i *inside) record(fault string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults = append(i.faults, fault)
}

var errNoFrame = errors.New("there is no frame")

func try[T any](i *inside, expression string) (value T, err error) {
	ctx, ok := i.frame()
	if !ok {
		return value, errNoFrame
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

// wait waits until an expression is true in the frame.
func (i *inside) wait(expression string) {
	i.Helper()
	var last error
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); <-time.After(tick) {
		is, err := try[bool](i, "Boolean("+expression+")")
		if err == nil && is {
			return
		}
		last = err
	}
	require.FailNow(i, "not true in time", "%s; the last error: %v", expression, last)
}

// do evaluates an expression in the frame.
func (i *inside) do(expression string) { i.Helper(); i.wait("(" + expression + ", true)") }

// text evaluates an expression to a text.
func (i *inside) text(expression string) string {
	i.Helper()
	text, err := try[string](i, expression)
	require.NoError(i, err, expression)
	return text
}
