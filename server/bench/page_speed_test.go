package bench_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// firstVisits is how often a first visit is measured.
const firstVisits = 5

// BenchmarkFirstVisit measures a first visit, with an empty cache, over loopback and over a slow network: when the browser
// paints, and when the page can be used, that is, its input is visible and its connection is open.
func BenchmarkFirstVisit(b *testing.B) {
	once(b, func() {
		p, chromium := portaltest.Start(b, portaltest.Options{Args: []string{"--demo", "--debug=false"}}), portaltest.StartChromium(b)
		for _, network := range []struct {
			name          string
			latency, mbit float64
			paint, usable string // aims
		}{{"loopback", 0, 0, "150 ms", ""}, {"150 ms, 1.6 Mbit/s", 150, 1.6, "", "1200 ms"}} {
			var paint, usable []float64
			var last visited
			for range firstVisits {
				last = visitFirst(b, chromium, p.URL, network.latency, network.mbit)
				paint, usable = append(paint, last.Paint), append(usable, last.Usable)
			}
			report.add("first visit over "+network.name+": first paint", fmt.Sprintf("%.0f ms", quantile(paint, 0.5)), network.paint, "")
			report.add("  usable", fmt.Sprintf("%.0f ms", quantile(usable, 0.5)), network.usable, "")
			report.add("  requests, bytes", fmt.Sprintf("%.0f, %.0f kB", last.Requests, last.Bytes/1000), "12, 150 kB", "")
		}
	})
}

// visited is what the page measured of a first visit, in ms and bytes.
type visited struct{ Paint, Usable, Requests, Bytes float64 }

// watchVisit notes when the input is visible and the first message of the portal has come.
const watchVisit = `(() => {
  window.__usable = 0;
  let answered = false;
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(...args) { super(...args); this.addEventListener("message", () => (answered = true), { once: true }); }
  };
  const look = () => {
    if (answered && document.querySelector("textarea")?.getClientRects().length) window.__usable = performance.now();
    else setTimeout(look, 5);
  };
  addEventListener("DOMContentLoaded", look);
})()`

const visitMeasured = `JSON.stringify((() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return {
    Paint: performance.getEntriesByType("paint")[0]?.startTime ?? 0, Usable: window.__usable,
    Requests: all.length + 1, Bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0), // and the WebSocket
  };
})())`

func visitFirst(b *testing.B, chromium *portaltest.Chromium, url string, latency, mbit float64) (v visited) {
	b.Helper()
	tab := chromium.Open(b, "about:blank")
	defer tab.Close()
	throttle(b, tab, latency, mbit)
	_, err := chromedp.Call(tab.Context, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: watchVisit})
	require.NoError(b, err)
	tab.Do(chromedp.Navigate(url), chromedp.Poll[chromedp.Void](`window.__usable > 0`, chromedp.WithPollingInterval(50*time.Millisecond)))
	text, err := chromedp.Run(tab.Context, chromedp.Evaluate[string](visitMeasured))
	require.NoError(b, err)
	require.NoError(b, json.Unmarshal([]byte(text), &v))
	return v
}

// networkConditions are the parameters of Network.emulateNetworkConditions.
type networkConditions struct {
	Offline  bool    `json:"offline"`
	Latency  float64 `json:"latency"`            // ms
	Download float64 `json:"downloadThroughput"` // bytes a second; -1: unlimited
	Upload   float64 `json:"uploadThroughput"`
}

// throttle slows the network of a tab; 0 Mbit/s means unlimited.
func throttle(b *testing.B, tab *portaltest.Browser, latency, mbit float64) {
	b.Helper()
	speed := mbit * 1e6 / 8
	if mbit == 0 {
		speed = -1
	}
	for _, err := range []error{
		second(chromedp.Call(tab.Context, cdp.Command[cdp.Empty, cdp.Empty]{Method: "Network.enable"}, cdp.Empty{})),
		second(chromedp.Call(tab.Context, cdp.Command[networkConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}, networkConditions{Latency: latency, Download: speed, Upload: speed})),
	} {
		require.NoError(b, err)
	}
}

func second[T any](_ T, err error) error { return err }

// BenchmarkLongAnswer measures the page while an answer of 20,000 tokens comes in 8 s.
func BenchmarkLongAnswer(b *testing.B) {
	once(b, func() {
		p, chromium := portaltest.Start(b, portaltest.Options{Args: []string{"--demo", "--debug=false"}}), portaltest.StartChromium(b)
		id := p.StartSession(b.TempDir(), "")
		p.Query(id, "say `hello`")
		tab := chromium.Open(b, p.URL+"/#/s/"+id)
		tab.WaitText("[data-testid=answer]", "hello")
		tab.Do(chromedp.Evaluate[chromedp.Void](watchFrames))
		p.Query(id, "20,000 tokens in 8 s")
		tab.Do(chromedp.Poll[chromedp.Void](`window.__smooth`, chromedp.WithPollingInterval(500*time.Millisecond), chromedp.WithPollingTimeout(0)))
		text, err := chromedp.Run(tab.Context, chromedp.Evaluate[string](`JSON.stringify(window.__smooth)`))
		require.NoError(b, err)
		var s smooth
		require.NoError(b, json.Unmarshal([]byte(text), &s))
		report.add("20,000 tokens in 8 s: shown within; without the last one", fmt.Sprintf("%.2f s; %.2f s", s.Took/1000, s.Almost/1000), "8.5 s", "")
		report.add("  frames per second; the longest between two", fmt.Sprintf("%.0f; %.0f ms", s.Frames/s.Took*1000, s.Longest), "50", "")
		report.add("  tasks over 50 ms; the longest", fmt.Sprintf("%d; %s", len(s.Tasks), longest(s.Tasks)), "0", "")
		w := traced(b, tab, func() {
			p.Query(id, "20,000 tokens in 8 s")
			tab.Do(chromedp.Poll[chromedp.Void](`document.querySelectorAll("[data-testid=end]").length === 3`, chromedp.WithPollingInterval(500*time.Millisecond), chromedp.WithPollingTimeout(0)))
		})
		report.add("  the same again: longest tasks in time of the processor", spread(w.bare), "50 ms", "")
	})
}

// smooth is what the page measured of an answer, in ms.
type smooth struct {
	Took, Almost, Frames, Longest float64
	Tasks                         []float64 // over 50 ms
}

func longest(tasks []float64) string {
	if len(tasks) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f ms", slices.Max(tasks))
}

// watchFrames counts frames and long tasks from the first to the last word of the next answer.
const watchFrames = `(() => {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: "longtask" });
  const before = document.querySelectorAll("[data-testid=answer]").length;
  let from = 0, frames = 0, last = 0, most = 0, almost = 0, end = 0;
  const step = (now) => {
    const answer = document.querySelectorAll("[data-testid=answer]")[before];
    if (!from && answer?.textContent.includes("w1 ")) from = last = now;
    if (from) {
      frames++;
      most = Math.max(most, now - last);
      last = now;
    }
    if (!almost && frames % 10 === 0 && answer?.textContent.includes("w19999")) almost = now;
    if (!end && frames % 10 === 0 && answer?.textContent.includes("w20000")) {
      end = now;
      setTimeout(() => {
        window.__smooth = { Took: end - from, Almost: almost - from, Frames: frames, Longest: most,
          Tasks: tasks.filter((task) => task.startTime + task.duration > from).map((task) => task.duration) };
      }, 1000);
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})()`
