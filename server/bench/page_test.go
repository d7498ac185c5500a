package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// opened is how many sessions are opened one after another to see what stays.
const opened = 20

// BenchmarkPage measures the page in Chromium on a session of 20,000 events,
// through DevTools: when the end of it is painted, what the main thread does while
// an answer streams in, and what stays in memory.
func BenchmarkPage(b *testing.B) {
	once(b, func() {
		sessions := opened
		if testing.Short() {
			sessions = 4
		}
		p, ids := pasts(b, startModel(b), sessions, pastEvents)
		chromium, plain := portaltest.StartChromium(b), startPlain(b)
		v := visit{b, chromium, p, plain}
		v.firstPaint(ids[0])
		v.attach(ids[0])
		v.memory(ids)
		v.streaming(ids[1:]) // which then end otherwise
	})
}

// visit is somebody who looks at the page, or at the plain one.
type visit struct {
	*testing.B
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
	plain    string
}

func (v visit) address(id string) string { return v.portal.URL + "/#/s/" + id }

// watchPaint notes when a text is painted at the end of the page, with the time
// since "from": the frame after that which drew it has begun then.
const watchPaint = `(() => {
  let from = 0;
  window.watchFrom = () => { from = performance.now(); window.painted = 0; requestAnimationFrame(look); };
  const ends = () => {
    const all = document.querySelectorAll("[data-testid=answer], #text");
    return all.length > 0 && all[all.length - 1].textContent.includes(%q);
  };
  const look = () => {
    if (!ends()) return void requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now() - from)));
  };
  window.painted = 0;
  requestAnimationFrame(look);
})()`

// open opens an address in a new tab and tells when the end was painted.
func (v visit) open(url string) (tab *portaltest.Browser, painted time.Duration) {
	v.Helper()
	tab = v.chromium.Open(v.B, "about:blank")
	_, err := chromedp.Call(tab.Context, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(watchPaint, lastAnswer)})
	require.NoError(v, err)
	tab.Do(chromedp.Navigate(url))
	return tab, v.painted(tab)
}

// painted waits until that is so. There is a moment in a navigation in which nothing
// can be asked.
func (v visit) painted(tab *portaltest.Browser) time.Duration {
	v.Helper()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ms, err := chromedp.Run(tab.Context, chromedp.Evaluate[float64](`window.painted || 0`))
		if err == nil && ms > 0 {
			return time.Duration(ms * float64(time.Millisecond))
		}
		require.True(v, time.Now().Before(limit), "nothing was painted: %v", err)
	}
}

// firstPaint measures from the navigation, and from a click in the open page.
func (v visit) firstPaint(id string) {
	v.Helper()
	var cold, again, click, bare []time.Duration
	v.open(v.address(id)) // the portal has read the record then, and the browser the page
	alternate(func(int) {
		tab, painted := v.open(v.address(id))
		cold = append(cold, painted)
		tab.Do(chromedp.Reload()) // the browser has the page then, as for who comes back
		again = append(again, v.painted(tab))
		tab.Close()
		click = append(click, v.click(id))
	}, func(int) {
		tab, painted := v.open(v.plain)
		bare = append(bare, painted)
		tab.Close()
	})
	report.add(fmt.Sprintf("a session of %d events painted to its end, from the address", pastEvents), ms(median(cold)), "300 ms", ms(median(bare))+": a page that shows one line")
	report.add("  where the browser has the page already", ms(median(again)), "300 ms", "")
	report.add("  from a click in the rail", ms(median(click)), "300 ms", "")
	v.ReportMetric(median(cold).Seconds()*1e3, "ms-to-paint")
	v.ReportMetric(median(click).Seconds()*1e3, "ms-from-click")
}

// attach measures the portal's part of it: what the page asks for until it has come.
func (v visit) attach(id string) {
	v.Helper()
	var each []time.Duration
	size := 0
	for range pairs {
		u := v.portal.UI("")
		size = 0
		u.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_version":"0","client":{"name":"bench"},"ui_capabilities":{"supports_deltas":true,"supports_html":true}}}`)
		_, err := u.Receive(time.Second)
		require.NoError(v, err)
		each = append(each, spent(func() {
			u.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"portal.session.attach","params":{"session_id":%q,"max_runs":200,"max_events":300}}`, id))
			for answered := false; !answered; {
				line, err := u.Receive(5 * time.Second)
				require.NoError(v, err)
				size += len(line)
				answered = strings.Contains(line, `"id":2`)
			}
		}))
		u.CloseInput()
	}
	report.add("  of it the portal's answer with the end of the past", ms(median(each)), "", mb(float64(size))+" come")
}

// click opens a session in the rail of a page that has not been there.
func (v visit) click(id string) time.Duration {
	v.Helper()
	tab := v.chromium.Open(v.B, "about:blank")
	defer tab.Close()
	_, err := chromedp.Call(tab.Context, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(watchPaint, lastAnswer)})
	require.NoError(v, err)
	row := fmt.Sprintf(`.row[data-session=%q] a`, id)
	tab.Do(chromedp.Navigate(v.portal.URL), chromedp.WaitVisible(chromedp.CSS(row)),
		chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`watchFrom(), document.querySelector(%q).click()`, row)))
	return v.painted(tab)
}

// streamed is how many pieces come while the main thread is watched, and how many
// come at once in a burst.
const (
	streamed = 1000
	burst    = 3000
)

// streaming measures the main thread while an answer comes.
func (v visit) streaming(ids []string) {
	v.Helper()
	for i, s := range []struct {
		what    string
		n, rate int
	}{{"100 pieces/s", streamed / 2, 100}, {"200 pieces/s", streamed, 200}, {"a burst", burst, 0}} {
		ours := v.stream(ids[i], s.n, s.rate)
		theirs := v.streamPlain(s.n, s.rate)
		report.add(fmt.Sprintf("while %d pieces of an answer come there (%s):", s.n, s.what), "", "", "the same text, appended to a <pre>")
		report.add("  tasks over 50 ms; the longest", fmt.Sprintf("%d; %s", ours.long(), ms(quantile(ours.tasks, 1))), "0", fmt.Sprintf("%d; %s", theirs.long(), ms(quantile(theirs.tasks, 1))))
		report.add("  script in a frame: p50, p99, the most", spread(ours.script), "8 ms", spread(theirs.script))
		report.add("    of that the processor was had for", spread(ours.busy), "8 ms", spread(theirs.busy))
		report.add("  style and layout in a frame", spread(ours.layout), "", spread(theirs.layout))
		v.ReportMetric(quantile(ours.script, 0.99).Seconds()*1e3, "ms-script-p99-"+fmt.Sprint(s.rate))
		v.ReportMetric(float64(ours.long()), "long-tasks-"+fmt.Sprint(s.rate))
	}
}

func (v visit) stream(id string, n, rate int) work {
	v.Helper()
	tab, _ := v.open(v.address(id))
	defer tab.Close()
	answers := chromedp.Poll[chromedp.Void](`document.querySelector(".flow").lastElementChild?.lastElementChild?.matches("[data-testid=end]")`, chromedp.WithPollingInterval(200*time.Millisecond))
	tab.Do(chromedp.Poll[chromedp.Void](`document.querySelectorAll(".chunk").length > 3`)) // what was before is drawn, too
	return traced(v.B, tab, func() {
		call(v.B, "POST", v.portal.URL+"/api/copilot/session/"+id+"/query", markdown(n, rate))
		tab.WaitText("[data-testid=prompt-block]", markdown(n, rate))
		tab.Do(chromedp.Poll[chromedp.Void](`document.querySelector("[aria-busy=true]")`, chromedp.WithPollingInterval(50*time.Millisecond)), answers)
	})
}

func (v visit) streamPlain(n, rate int) work {
	v.Helper()
	tab, _ := v.open(v.plain)
	defer tab.Close()
	return traced(v.B, tab, func() {
		tab.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`begin("?n=%d&rate=%d")`, n, rate)))
		tab.WaitText("#text", lastAnswer)
	})
}

// memory measures what sessions leave behind that were looked at.
func (v visit) memory(ids []string) {
	v.Helper()
	tab, _ := v.open(v.address(ids[0]))
	defer tab.Close()
	one := v.held(tab)
	for _, id := range ids[1:] {
		tab.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`watchFrom(), location.hash = "#/s/%s"`, id)))
		v.painted(tab)
	}
	all := v.held(tab)
	report.add("memory of the page with one session of that size", mb(one.heap), "", fmt.Sprintf("%.0f nodes", one.nodes))
	report.add(fmt.Sprintf("  after %d such sessions, one after another", len(ids)), mb(all.heap), "", fmt.Sprintf("%.0f nodes", all.nodes))
	v.ReportMetric(all.heap/1e6, "MB-heap")
}

// holding is what a page holds when it rests.
type holding struct{ heap, nodes float64 }

func (v visit) held(tab *portaltest.Browser) (h holding) {
	v.Helper()
	_, err := chromedp.Call(tab.Context, performance.Enable, performance.EnableParams{})
	require.NoError(v, err)
	time.Sleep(2 * time.Second) // what is done in idle time is done
	_, err = chromedp.Call(tab.Context, heapprofiler.CollectGarbage, cdp.Empty{})
	require.NoError(v, err)
	metrics, err := chromedp.Call(tab.Context, performance.GetMetrics, cdp.Empty{})
	require.NoError(v, err)
	for _, m := range metrics.Metrics {
		switch m.Name {
		case "JSHeapUsedSize":
			h.heap = m.Value
		case "Nodes":
			h.nodes = m.Value
		}
	}
	require.Positive(v, h.heap)
	return h
}
