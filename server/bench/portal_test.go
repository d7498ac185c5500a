package bench_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// start starts a portal as its users do, with the model as one of its own.
func start(tb testing.TB, model string) *portaltest.Portal {
	tb.Helper()
	config := fmt.Sprintf("providers: [{name: bench, base_url: %q, models: [%s]}]\noperations: {connections: 1000, compression: true}\n", model, modelID)
	return portaltest.Start(tb, portaltest.Options{Config: config, Args: []string{"--debug=false"}})
}

// openPortal opens sessions and reads them by live/{token}.
func openPortal(tb testing.TB, p *portaltest.Portal) opener {
	tb.Helper()
	return openPortalAt(tb, p, "/live/reader")
}

// openPortalAt opens sessions and reads them by a path below theirs: "/live" or "/live/{token}".
func openPortalAt(tb testing.TB, p *portaltest.Portal, path string) opener {
	tb.Helper()
	dir := tb.TempDir()
	return func() *talk {
		tb.Helper()
		session := newSession(tb, p, dir)
		t := &talk{events: make(chan heard, room)}
		t.prompt = func(text string) { call(tb, "POST", session+"/query", text) }
		t.cancel = func() { call(tb, "POST", session+"/cancel", "") }
		t.close = func() { call(tb, "POST", session+"/stop", "") }
		go t.follow(session + path)
		return t
	}
}

// newSession gives the address of a new session.
func newSession(tb testing.TB, p *portaltest.Portal, dir string) string {
	tb.Helper()
	sessions := p.URL + "/api/copilot/session/"
	var started struct {
		SessionID string `json:"sessionId"`
	}
	answer := call(tb, "POST", sessions+"start/bench/"+modelID, dir)
	require.NoError(tb, json.Unmarshal(answer, &started))
	require.NotEmpty(tb, started.SessionID, "%s", answer)
	return sessions + started.SessionID
}

// client keeps its connections, as programs do.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

func call(tb testing.TB, method, url, body string) []byte {
	tb.Helper()
	answer, err := request(method, url, body)
	require.NoError(tb, err)
	return answer
}

func request(method, url, body string) ([]byte, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// follow reads a session until it ends.
func (t *talk) follow(url string) {
	defer func() { t.events <- heard{kind: closing} }()
	for {
		answer, err := request("GET", url, "")
		type response struct {
			Callback string `json:"callback"`
			Delta    string `json:"delta"`
		}
		var batch struct {
			response // of live

			Error     string     `json:"error"`
			Responses []response `json:"responses"` // of live/{token}
		}
		if err != nil || json.Unmarshal(answer, &batch) != nil || batch.Error != "" && batch.Error != "HttpRequestTimeout" {
			return
		}
		at := time.Now()
		for _, r := range append(batch.Responses, batch.response) {
			switch r.Callback {
			case "onMessage":
				t.events <- heard{delta, r.Delta, at}
			case "onIdle":
				t.events <- heard{idle, "", at}
			}
		}
	}
}
