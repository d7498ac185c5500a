package server_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" //nolint:depguard // reads the file as another program would

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// database opens the database of a data directory as another program would.
func database(t *testing.T, dir string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "sessions.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// assertSound checks that the database that portals have left is intact and that no session is held.
func assertSound(t *testing.T, dir string) {
	t.Helper()
	conn := database(t, dir)
	var found string
	require.NoError(t, conn.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&found))
	assert.Equal(t, "ok", found)
	var held int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM session WHERE owner IS NOT NULL").Scan(&held))
	assert.Zero(t, held, "leases are left")
}

// owner returns the process that holds a session according to a portal.
func owner(p *portaltest.Portal, id string) (pid int) {
	list, _ := p.API("GET", "copilot/session", "")["sessions"].([]any)
	for _, entry := range list {
		if s, ok := entry.(map[string]any); ok && s["sessionId"] == id {
			n, _ := s["owner"].(float64)
			return int(n)
		}
	}
	return -1
}

// query sends a prompt that may be refused and returns the response.
func query(p *portaltest.Portal, id, prompt string) (status int, answer string) {
	return p.Do(http.MethodPost, "/api/copilot/session/"+id+"/query", prompt)
}

const each = 3 // sessions of each portal

func TestThreePortalsShareADirectoryAndOneIsKilled(t *testing.T) {
	t.Parallel()
	portals, home := make([]*portaltest.Portal, 3), t.TempDir()
	var starts sync.WaitGroup
	for i := range portals {
		starts.Go(func() { portals[i] = portaltest.Start(t, portaltest.Options{Home: home}) })
	}
	starts.Wait()
	sessions := startAll(t, portals, []string{"400 tokens in 8 s", endless, "400 tokens in 8 s"})
	assertListedEverywhere(t, portals, sessions)
	for i, p := range portals {
		other := portals[(i+1)%len(portals)]
		assert.Equal(t, other.PID, owner(p, sessions[other][0]))
	}

	a, killed, c := portals[0], portals[1], portals[2]
	for _, id := range sessions[killed] { // the agent knows its prompt
		killed.Follow(id, "beginning").Wait("the answer", func(list []portaltest.Response) bool { return count(list, "onMessage") > 0 })
	}
	killed.Kill()
	for _, id := range sessions[killed] {
		assertBothUse(t, a, c, id)
	}
	for _, p := range []*portaltest.Portal{a, c} {
		for _, id := range sessions[p] {
			p.Follow(id, "end").Wait("the end", func(list []portaltest.Response) bool { return count(list, "onIdle") == 1 })
			assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, p, id)))
		}
	}
	a.Stop()
	c.Stop()
	assertSound(t, a.DataDir())
}

// endless is a stream that lasts longer than any test.
const endless = "4,000 tokens in 1,000 s"

// startAll starts sessions in all portals concurrently, each with the stream of its portal.
func startAll(t *testing.T, portals []*portaltest.Portal, streams []string) map[*portaltest.Portal][]string {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	sessions := map[*portaltest.Portal][]string{}
	for i, p := range portals {
		dir := t.TempDir()
		all.Go(func() {
			for range each {
				id := p.StartSession(dir, "")
				p.Query(id, streams[i])
				mu.Lock()
				sessions[p] = append(sessions[p], id)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return sessions
}

func assertListedEverywhere(t *testing.T, portals []*portaltest.Portal, sessions map[*portaltest.Portal][]string) {
	t.Helper()
	for _, p := range portals {
		for _, ids := range sessions {
			for _, id := range ids {
				assert.Eventually(t, func() bool { return state(p, id) != "" }, soon, tick)
			}
		}
	}
}

// assertBothUse lets two portals use the session of a killed portal concurrently, and checks that one acquires it
// and executes the prompts of both.
func assertBothUse(t *testing.T, a, c *portaltest.Portal, id string) {
	t.Helper()
	portals, status, answers := []*portaltest.Portal{a, c}, [2]int{}, [2]string{}
	begin, both := make(chan struct{}), sync.WaitGroup{}
	for i, p := range portals {
		both.Go(func() {
			<-begin
			status[i], answers[i] = query(p, id, fmt.Sprintf("recall, then say `taken by %d`", p.PID))
		})
	}
	close(begin)
	both.Wait()
	require.Equal(t, [2]int{http.StatusOK, http.StatusOK}, status, "%v", answers)
	holder, other := a, c
	if owner(a, id) != a.PID && owner(a, id) != 0 {
		holder, other = c, a
	}
	list := holder.Follow(id, "holder").Wait("the answers", func(list []portaltest.Response) bool { return count(list, "onIdle") == 3 })
	assert.Contains(t, portaltest.Answer(list), endless)
	for _, p := range portals {
		assert.Contains(t, portaltest.Answer(list), fmt.Sprintf("taken by %d", p.PID))
	}
	record := lines(t, holder, id)
	assert.Equal(t, []string{"interrupted", "completed", "completed"}, outcomes(t, record))
	assert.Equal(t, 3, strings.Count(strings.Join(record, "\n"), `"type":"run.started"`))
	require.Eventually(t, func() bool { return slices.Equal(lines(t, holder, id), lines(t, other, id)) }, soon, tick, "the other follows")
}

func TestReaderFollowsASessionThatRunsInAnotherPortal(t *testing.T) {
	t.Parallel()
	a := portaltest.Start(t, portaltest.Options{})
	c := portaltest.Start(t, portaltest.Options{Home: a.Home})
	id := c.StartSession(t.TempDir(), "")
	require.Eventually(t, func() bool { return owner(a, id) == c.PID }, soon, tick)
	near, far := c.Follow(id, "near"), a.Follow(id, "far")

	a.Query(id, "1,000 tokens in 4 s")
	idle := func(list []portaltest.Response) bool { return count(list, "onIdle") == 1 }
	near.Wait("the end", idle)
	far.Wait("the end in the other portal", idle)
	here, there := said(near), said(far)
	assert.Len(t, here, 1000)
	assert.Len(t, there, len(here))
	worst := time.Duration(0)
	for word, at := range here {
		worst = max(worst, there[word].Sub(at))
	}
	t.Logf("the other portal was at most %v behind", worst)
	assert.Less(t, worst, 2*time.Second)

	c.Query(id, "say `once more`")
	far.Wait("the next run", func(list []portaltest.Response) bool { return count(list, "onIdle") == 2 })
	assert.Equal(t, "once more", portaltest.Answer(far.Responses()))
	c.Stop()
	require.Eventually(t, func() bool { return state(a, id) == "idle" }, soon, tick)
	assert.Contains(t, portaltest.Answer(goOn(t, a, id, "recall")), "1,000 tokens in 4 s")
}

// said returns the deltas of messages with the times when a reader received them.
func said(r *portaltest.Reader) map[string]testclock.Clock {
	words := map[string]testclock.Clock{}
	for _, g := range r.Given() {
		if g.Name() == "onMessage" {
			words[g.Text("delta")] = g.At
		}
	}
	return words
}
