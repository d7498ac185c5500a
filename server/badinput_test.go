package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func refusesBadInput(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	dir := t.TempDir()
	id := p.StartSession(dir, "")
	session := "/api/copilot/session/" + id

	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string // part of the answer
	}{
		{"two slashes", "GET", "//", "", http.StatusNotFound, `{"error":`},
		{"a path above the site", "GET", "/../go.mod", "", http.StatusNotFound, `{"error":`},
		{"the same, encoded", "GET", "/%2e%2e/go.mod", "", http.StatusNotFound, `{"error":`},
		{"a path above the API", "GET", "/api/../../etc/passwd", "", http.StatusNotFound, `{"error":`},
		{"an unknown path", "GET", "/api/nothing", "", http.StatusNotFound, `{"error":`},
		{"the wrong method", "GET", "/api/copilot/session/start/demo", "", http.StatusMethodNotAllowed, "use POST"},
		{"an id with NUL", "GET", "/api/copilot/session/%00/live", "", http.StatusOK, `{"error":"SessionNotFound"}`},
		{"an id with a slash", "GET", "/api/copilot/session/a%2Fb/live", "", http.StatusOK, `{"error":"SessionNotFound"}`},
		{"an unknown model", "POST", "/api/copilot/session/start/none", dir, http.StatusOK, `{"error":"ModelIdNotFound"}`},
		{"an unknown model comes before a bad directory", "POST", "/api/copilot/session/start/a%2Fb", "x", http.StatusOK, `{"error":"ModelIdNotFound"}`},
		{"a relative directory", "POST", "/api/copilot/session/start/demo", "tmp", http.StatusOK, `{"error":"WorkingDirectoryNotAbsolutePath"}`},
		{"a missing directory", "POST", "/api/copilot/session/start/demo", dir + "/none", http.StatusOK, `{"error":"WorkingDirectoryNotExists"}`},
		{"a directory with NUL", "POST", "/api/copilot/session/start/demo", dir + "\x00", http.StatusOK, `{"error":"WorkingDirectoryNotExists"}`},
		{"a directory with invalid UTF-8", "POST", "/api/copilot/session/start/demo", dir + "\xff", http.StatusBadRequest, "UTF-8"},
		{"too long a directory", "POST", "/api/copilot/session/start/demo", "/" + strings.Repeat("x", 100_000), http.StatusBadRequest, "larger than"},
		{"an unknown permission", "POST", "/api/copilot/session/start/demo?permissions=maybe", dir, http.StatusBadRequest, "allow, ask or deny"},
		{"an unknown mode", "POST", session + "/query?mode=yolo", "x", http.StatusBadRequest, "use interactive, plan or autopilot"},
		{"steering that is neither true nor false", "POST", session + "/query?steer=perhaps", "x", http.StatusBadRequest, "use true or false"},
		{"an empty prompt", "POST", session + "/query", " \n", http.StatusBadRequest, "empty"},
		{"a prompt with invalid UTF-8", "POST", session + "/query", "\xc3\x28", http.StatusBadRequest, "UTF-8"},
		{"a prompt of 40 MB", "POST", session + "/query", strings.Repeat("x", 40<<20), http.StatusBadRequest, "larger than"},
		{"an answer that is not JSON", "POST", session + "/answer/x", "yes", http.StatusBadRequest, "not a JSON object"},
		{"an answer without a decision", "POST", session + "/answer/x", "{}", http.StatusBadRequest, "approved"},
		{"a field that is an object", "POST", session + "/answer/x", `{"approved":true,"fields":{"n":{}}}`, http.StatusBadRequest, `field \"n\"`},
		{"an answer without a question", "POST", session + "/answer/x", `{"approved":true}`, http.StatusOK, `{"error":"QuestionNotFound"}`},
		{"reopening an open session", "POST", session + "/resume", "", http.StatusOK, `{"error":"SessionAlreadyOpen"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer := p.Do(c.method, c.path, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, answer, c.want)
		})
	}
	assert.Contains(t, portaltest.Answer(p.Run(id, "say `still here`")), "still here")
}

func TestThousandParallelPollsAreAnswered(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	var polls sync.WaitGroup
	var waited atomic.Int32
	refused := make(chan struct{}, 1000)
	var refusedOf [500]atomic.Bool // by token
	for i := range 1000 {
		polls.Go(func() {
			path := fmt.Sprintf("copilot/session/%s/live/%d", id, i/2) // two per token
			for r := p.API("GET", path, ""); ; r = p.API("GET", path, "") {
				switch r["error"] {
				case "ParallelCallNotSupported":
					refusedOf[i/2].Store(true)
					refused <- struct{}{}
					return
				case "HttpRequestTimeout":
					if refusedOf[i/2].Load() { // otherwise the other one has not arrived yet
						waited.Add(1)
						return
					}
				}
			}
		})
		if i%100 == 99 { // once one of each two is refused, all have arrived; otherwise a busy machine would miss the limit of request heads
			for range 50 {
				select {
				case <-refused:
				case <-time.After(soon):
					require.Fail(t, "polls do not arrive")
				}
			}
		}
	}
	polls.Wait()
	assert.EqualValues(t, 500, waited.Load())
	assert.Empty(t, refused, "one of each two is refused")
	assert.Contains(t, portaltest.Answer(p.Run(id, "say `still here`")), "still here")
}

func TestHugePromptFailsClearly(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	got := p.Run(id, "say `big` "+strings.Repeat("lorem ipsum ", 10<<20/12))
	t.Logf("%v: %s", names(got), find(t, got, "sessionError").Text("sessionError"))
	got = p.Run(id, "say `fine`")
	assert.Contains(t, portaltest.Answer(got), "fine", "%v", got)
}
