package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// pageWith serves a page of another origin that loads target as an image, sends a form to it, and fetches it.
func pageWith(t *testing.T, target string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><link rel="icon" href="data:,"><div id="done"></div>
<form method="post" target="inner"></form><iframe name="inner"></iframe><img alt=""><script>
const target = %q, form = document.forms[0], image = document.images[0];
const loaded = new Promise((done) => { image.onload = image.onerror = done; });
const sent = new Promise((done) => { frames.inner.frameElement.onload = done; setTimeout(done, 1000); });
image.src = target;
form.action = target;
form.submit();
Promise.allSettled([loaded, sent, fetch(target, {mode: "no-cors"})]).then(() => { document.getElementById("done").textContent = "all sent"; });
</script>`, target)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// isStopped reports whether a client has requested the portal to stop.
func isStopped(s *server.Server) bool {
	select {
	case <-s.Stopping():
		return true
	default:
		return false
	}
}

func TestForeignPageCannotStopThePortalUnderAnyHostName(t *testing.T) {
	browser := portaltest.StartChromium(t)
	s := inside(t, nil)
	_, port, _ := strings.Cut(serve(t, s), ":")
	for _, host := range []string{
		"0.0.0.0", "[::ffff:127.0.0.1]", "[::]", "[::ffff:0:0]", "0", "127.1", "2130706433", "0x7f.1", "localhost.", "portal.localhost",
		"localhost", "127.0.0.1", "[::1]",
	} {
		t.Run(host, func(t *testing.T) {
			tab := browser.Open(t, "about:blank")
			tab.IgnoreConsole()
			tab.Do(chromedp.Navigate(pageWith(t, "http://"+host+":"+port+"/api/stop")))
			tab.WaitText("#done", "all sent")
			require.False(t, isStopped(s))
		})
	}
}

// Browsers send the portal's cookie from pages on other ports of its host, and beyond loopback they do not send
// their origin.
func TestPageOnAnotherPortOfTheSameHostCannotUseTheCookie(t *testing.T) {
	browser := portaltest.StartChromium(t, chromedp.Flag("host-resolver-rules", "MAP portal.example 127.0.0.1"))
	s := inside(t, func(c *server.Config) { c.Token, c.AllowedHosts = token, []string{"portal.example"} })
	_, port, _ := strings.Cut(serve(t, s), ":")
	own := "http://portal.example:" + port

	tab := browser.Open(t, own+"/?token="+url.QueryEscape(token))
	tab.IgnoreConsole() // no agent can start
	status, err := chromedp.Run(tab.Context, chromedp.Evaluate[int](`new Promise((done) => {
		const socket = new WebSocket("ws://" + location.host + "/ui");
		socket.onopen = () => done(101);
		socket.onerror = () => done(0);
	})`, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	assert.Equal(t, 101, status, "the page itself works")

	foreign := pageWith(t, own+"/api/stop")
	tab.Do(chromedp.Navigate(strings.Replace(foreign, "127.0.0.1", "portal.example", 1)))
	tab.WaitText("#done", "all sent")
	assert.False(t, isStopped(s))
}
