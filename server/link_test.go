package server_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/server"
)

// linkedPortal is a portal in this process with a session, another one, and a link of each kind to the first.
type linkedPortal struct {
	t              *testing.T
	server         *server.Server
	h              http.Handler
	session, other string
	read, answer   string // tokens
	link           share.Share
}

func newLinkedPortal(t *testing.T, change func(*server.Config)) *linkedPortal {
	t.Helper()
	p := &linkedPortal{t: t, server: inside(t, change)}
	p.h = p.server.Handler(8888)
	var err error
	p.session, err = p.server.StartSession(t.Context())
	require.NoError(t, err)
	p.other, err = p.server.StartSession(t.Context())
	require.NoError(t, err)
	p.link, p.read, err = p.server.Share(t.Context(), share.Order{Session: p.session})
	require.NoError(t, err)
	_, p.answer, err = p.server.Share(t.Context(), share.Order{Session: p.session, Rights: share.Answer})
	require.NoError(t, err)
	return p
}

func withBearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func TestHolderOfALinkMayUseOnlyTheseRoutes(t *testing.T) {
	allowed := map[string]share.Rights{
		"GET /ui": "read", "GET /rpc": "read", "POST /rpc": "read", "GET /stream/:id": "read", "GET /version": "read", "GET /api/token": "read",
		"GET /api/copilot/session": "read", "GET /api/copilot/session/:id/live/:token": "read",
		"GET /api/copilot/session/:id/history": "read", "GET /api/copilot/session/:id/export": "read",
		"POST /api/copilot/session/:id/answer/:request": "answer",
	}
	p := newLinkedPortal(t, nil)
	listed, _, _ := server.Linked()
	require.Equal(t, allowed, listed)
	routes := map[string]bool{}
	fill := strings.NewReplacer(":id", p.other, ":token", "t", ":request", "r", "*model", "demo", ":link", p.link.ID)
	for _, r := range server.RoutesOf(p.h) {
		name := r.Method + " " + r.Path
		routes[name] = true
		for token, rights := range map[string]share.Rights{p.read: share.Read, p.answer: share.Answer} {
			w := ask(p.h, r.Method, fill.Replace(r.Path), withBearer(token)...)
			if r.Path == "/s/:link/open" {
				continue // which opens the link; see TestLinkOpensInABrowser
			}
			if needed, ok := allowed[name]; ok && rights.Include(needed) {
				assert.NotEqual(t, http.StatusForbidden, w.Code, name)
				continue
			}
			assert.Equal(t, http.StatusForbidden, w.Code, "%s, a link to %s", name, rights)
			assert.Contains(t, w.Body.String(), rights.Describe(), name)
		}
	}
	for name := range allowed {
		assert.True(t, routes[name], "%s is no route any more", name)
	}
}

func TestHolderOfALinkMayCallOnlyTheseMethods(t *testing.T) {
	p := newLinkedPortal(t, nil)
	_, ui, rpc := server.Linked()
	uiNames, rpcNames := p.server.Methods()
	for dialect, c := range map[string]struct {
		names   []string
		table   map[string]share.Rights
		allowed map[string]share.Rights
	}{
		"/ui": {uiNames, ui, map[string]share.Rights{
			"initialize": "read", "session.list": "read", "session.history": "read",
			"portal.session.attach": "read", "portal.session.earlier": "read", "portal.session.detach": "read",
			"portal.session.changes": "read", "portal.session.diff": "read", "portal.queue.list": "read", "portal.share.current": "read",
		}},
		"/rpc": {rpcNames, rpc, map[string]share.Rights{
			"session.list": "read", "session.subscribe": "read", "session.unsubscribe": "read", "session.changes": "read",
			"session.diff": "read", "queue.list": "read", "share.current": "read", "question.answer": "answer",
		}},
	} {
		require.Equal(t, c.allowed, c.table, dialect)
		require.Greater(t, len(c.names), 20)
		for name := range c.table {
			assert.Contains(t, c.names, name, "no method of %s any more", dialect)
		}
		for _, name := range c.names {
			for token, rights := range map[string]share.Rights{p.read: share.Read, p.answer: share.Answer} {
				want := rights.Describe()
				if needed, ok := c.allowed[name]; ok && rights.Include(needed) {
					want = ""
				}
				assert.Equal(t, want, p.server.Admit(t.Context(), token, c.table, name), "%s %s", dialect, name)
			}
		}
	}
}

func TestLinkIsReleasedWhenItsWebSocketIsClosed(t *testing.T) {
	p := newLinkedPortal(t, nil)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.server.ServeOn(ctx, l) }()
	dialer := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}}
	c, answer, err := dialer.DialContext(t.Context(), "ws://localhost:8888/ui", http.Header{"Authorization": {"Bearer " + p.read}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.NoError(t, c.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"session.list"}`)))
	_, list, err := c.ReadMessage()
	require.NoError(t, err)
	assert.Contains(t, string(list), p.session, "the link is in force although the request that opened the connection is over")
	require.Eventually(t, func() bool { return watchedLinks(t) == 1 }, soon, tick)
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return watchedLinks(t) == 0 }, soon, tick)
	stop()
	require.NoError(t, <-ended)
}

// watchedLinks counts the goroutines that watch a link in use.
func watchedLinks(t *testing.T) int {
	t.Helper()
	var all strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 2))
	return strings.Count(all.String(), "share.(*Shares).watch(")
}

func TestLinkLimitsItsHolderWithAndWithoutAPortalToken(t *testing.T) {
	for name, change := range map[string]func(*server.Config){
		"no token": nil, "a token": func(c *server.Config) { c.Token = "the token of the owner" },
		"a base path": func(c *server.Config) { c.BasePath = "/portal" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLinkedPortal(t, change)
			base := ""
			if name == "a base path" {
				base = "/portal"
			}
			var list struct{ Sessions []struct{ SessionID string } }
			w := ask(p.h, "GET", base+"/api/copilot/session", withBearer(p.read)...)
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list), w.Body.String())
			require.Len(t, list.Sessions, 1, "the list has only the one session")
			assert.Equal(t, p.session, list.Sessions[0].SessionID)
			assert.Equal(t, http.StatusOK, ask(p.h, "GET", base+"/api/copilot/session/"+p.session+"/history", withBearer(p.read)...).Code)
			assert.Contains(t, ask(p.h, "GET", base+"/api/copilot/session/"+p.other+"/history", withBearer(p.read)...).Body.String(), "SessionNotFound")
			for _, wrong := range []string{"share_", p.read + "x", "share_" + strings.Repeat("a", 38)} {
				assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", base+"/api/copilot/session", withBearer(wrong)...).Code, "a wrong link is never no link")
			}
			require.NoError(t, p.server.Revoke(t.Context(), p.link))
			w = ask(p.h, "GET", base+"/api/copilot/session", withBearer(p.read)...)
			assert.Equal(t, http.StatusUnauthorized, w.Code)
			assert.Contains(t, w.Body.String(), "expired or was revoked")
		})
	}
}

func TestLinkOpensInABrowser(t *testing.T) {
	p := newLinkedPortal(t, func(c *server.Config) { c.Token = "the token of the owner" })
	at := "/s/" + p.link.ID + "/"
	page := ask(p.h, "GET", at)
	require.Equal(t, http.StatusOK, page.Code)
	assert.Contains(t, page.Body.String(), "Opening the shared session")
	for _, name := range []string{"link.js", "styles/link.css"} {
		assert.Equal(t, http.StatusOK, ask(p.h, "GET", at+name).Code, name)
	}
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", at+"index.html").Code)
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", at+"ui").Code)

	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "POST", at+"open").Code, "no token")
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "POST", at+"open", withBearer(p.answer)...).Code, "the token of another link")
	assert.Equal(t, http.StatusNotFound, ask(p.h, "POST", at+"open", withBearer("the token of the owner")...).Code)
	opened := ask(p.h, "POST", at+"open", withBearer(p.read)...)
	require.Equal(t, http.StatusNoContent, opened.Code)
	cookies := opened.Result().Cookies()
	require.Len(t, cookies, 1)
	cookie := cookies[0]
	assert.True(t, cookie.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	assert.Equal(t, at, cookie.Path)
	assert.WithinDuration(t, time.Now().Add(share.DefaultLifetime), cookie.Expires, time.Minute)

	with := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	assert.Contains(t, ask(p.h, "GET", at, with...).Body.String(), `class="shared"`, "the page")
	assert.Contains(t, ask(p.h, "GET", at, append(with, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")...).Body.String(), "Opening the shared session")
	assert.Equal(t, http.StatusForbidden, ask(p.h, "GET", at, append(with, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors")...).Code)
	assert.Equal(t, http.StatusForbidden, ask(p.h, "GET", at, append(with, "Host", "evil.example")...).Code)
	assert.Equal(t, http.StatusOK, ask(p.h, "GET", at+"api/copilot/session", with...).Code)
	assert.Equal(t, http.StatusForbidden, ask(p.h, "POST", at+"api/stop", with...).Code)
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", "/api/copilot/session", with...).Code, "the cookie of a link counts only below its path")
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", at+"api/copilot/session", withBearer("the token of the owner")...).Code, "and there only it counts")
	assert.Equal(t, http.StatusNoContent, ask(p.h, "POST", at+"open", with...).Code, "the cookie is still good")

	require.NoError(t, p.server.Revoke(t.Context(), p.link))
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", at+"api/copilot/session", with...).Code)
	assert.Contains(t, ask(p.h, "GET", at, with...).Body.String(), "Opening the shared session")
	assert.Equal(t, http.StatusUnauthorized, ask(p.h, "POST", at+"open", with...).Code)
}

func TestOddAddressesOfLinksLeadNowhere(t *testing.T) {
	p := newLinkedPortal(t, func(c *server.Config) { c.Token = "the token of the owner" })
	for _, path := range []string{
		"/s", "/s/", "/s/" + p.link.ID, "/s/x/", "/s/../api/stop", "/s/" + p.link.ID + "/s/" + p.link.ID + "/", "/s/" + strings.ToUpper(p.link.ID) + "/",
		"/s/" + p.link.ID + "/../../api/stop", "/s/" + p.link.ID + "//api/stop",
	} {
		assert.Equal(t, http.StatusUnauthorized, ask(p.h, "GET", path).Code, path)
	}
}

func TestWrongTokensOfLinksAreCounted(t *testing.T) {
	p := newLinkedPortal(t, nil)
	codes := map[int]int{}
	for range 30 {
		codes[ask(p.h, "GET", "/api/copilot/session", withBearer("share_"+strings.Repeat("a", 38))...).Code]++
	}
	assert.Equal(t, 10, codes[http.StatusUnauthorized])
	assert.Equal(t, 20, codes[http.StatusTooManyRequests])
	assert.Equal(t, http.StatusOK, ask(p.h, "GET", "/api/copilot/session", withBearer(p.read)...).Code, "the right one is still accepted")
}
