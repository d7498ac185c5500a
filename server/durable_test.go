package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// durableAfter is the maximum age of a lost event: older events that a client received must survive a kill.
const durableAfter = 50 * time.Millisecond

// durableAtMost is the limit of this test, by a clock that excludes stalls of the machine; a portal also waits
// for its disk. The test logs the age of lost events.
const durableAtMost = 10 * durableAfter

func TestReceivedEventsSurviveKillsDuringAStream(t *testing.T) {
	lanes, rounds := portaltest.Repeat(2, 4), portaltest.Repeat(2, 5)
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() {
			l := newKilledSession(t, i)
			for round := range rounds {
				if t.Failed() {
					return
				}
				l.round(round)
			}
		})
	}
	all.Wait()
}

// killedSession is a session whose portal is killed repeatedly in the middle of an answer.
type killedSession struct {
	*testing.T
	portal  *portaltest.Portal
	session string
	name    string
	prompts []string
	steady  *portaltest.Reader // uses the same token in all portals
}

func newKilledSession(t *testing.T, i int) *killedSession {
	t.Helper()
	p := portaltest.Start(t, portaltest.Options{})
	l := &killedSession{T: t, portal: p, session: p.StartSession(t.TempDir(), ""), name: fmt.Sprintf("heron-%d", i)}
	l.steady = p.Follow(l.session, "steady")
	return l
}

// round lets the model answer, kills the portal, and checks what remains.
func (l *killedSession) round(n int) {
	fresh := l.portal.Follow(l.session, fmt.Sprintf("fresh-%d", n))
	fresh.Wait("the past", func(list []portaltest.Response) bool { return count(list, "onIdle") == 2*n })
	before := fresh.Given()
	unseen := len(l.steady.Given())

	l.prompts = append(l.prompts, fmt.Sprintf("The %s of round %d: 6,000 tokens in 30 s", l.name, n))
	l.portal.Query(l.session, l.prompts[len(l.prompts)-1])
	lines, killed := l.killAmid(fresh, len(before))

	l.portal = l.portal.Restart()
	l.awaitRecovered(n + 1)
	past := l.past(fmt.Sprintf("after-%d", n), 2*n+1)
	assert.Equal(l, "onIdle", past[len(past)-1].Name())
	all := expandResponses(past)
	held, lost := assertKept(l.T, fresh.Given(), all, killed)
	l.Logf("%s, round %d: %d responses kept, the oldest of those lost was %v old", l.name, n, held, lost)
	start := len(expandResponses(responses(before)))
	assertCounted(l.T, all[start:])
	assertLines(l.T, lines, l.lines(), killed)
	l.assertContinues(append(all[:start:start], expandResponses(responses(l.steady.Given()[unseen:]))...), all)
	l.assertKnowsThePast()
}

// killAmid kills the portal at a random moment of the answer, after reading the record as lines.
func (l *killedSession) killAmid(reader *portaltest.Reader, before int) (lines []dated, killed testclock.Clock) {
	reader.Wait("the answer", func(list []portaltest.Response) bool { return count(list[before:], "onMessage") > 0 })
	moment := time.NewTimer(rand.N(1200 * time.Millisecond))
	defer moment.Stop()
	for {
		select {
		case <-moment.C:
			killed = testclock.Now()
			l.portal.Kill()
			<-reader.Done()
			<-l.steady.Done()
			return lines, killed
		case <-time.After(50 * time.Millisecond):
			lines = append(lines, dated{l.lines(), testclock.Now()})
		}
	}
}

// dated is a response and the time when it was read.
type dated struct {
	lines []string
	at    testclock.Clock
}

// lines returns the exported events of the session.
func (l *killedSession) lines() []string {
	l.Helper()
	return lines(l.T, l.portal, l.session)
}

func lines(t *testing.T, p *portaltest.Portal, id string) []string {
	t.Helper()
	status, text := p.Do("GET", "/api/copilot/session/"+id+"/export?format=jsonl", "")
	require.Equal(t, 200, status, text)
	list := strings.Split(strings.TrimSpace(text), "\n")
	return list[1:] // the first line describes the session
}

// awaitRecovered waits until the interrupted run is marked as such.
func (l *killedSession) awaitRecovered(interrupted int) {
	l.Helper()
	require.Eventually(l, func() bool {
		return strings.Count(strings.Join(outcomes(l.T, l.lines()), " "), "interrupted") == interrupted
	}, 4*soon, 10*tick)
	require.Equal(l, "idle", state(l.portal, l.session))
}

// outcomes returns the outcomes of the runs in an export, in order.
func outcomes(t *testing.T, lines []string) (list []string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(line, `"run.ended"`) { // decoding all of them takes long
			continue
		}
		var e struct {
			Type string
			Body struct{ Outcome string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		if e.Type == "run.ended" {
			list = append(list, e.Body.Outcome)
		}
	}
	return list
}

// past returns what a new reader receives up to the end of n runs.
func (l *killedSession) past(token string, runs int) []portaltest.Response {
	l.Helper()
	return l.portal.Follow(l.session, token).Wait("the past", func(list []portaltest.Response) bool { return count(list, "onIdle") == runs })
}

func count(list []portaltest.Response, name string) (n int) {
	for _, r := range list {
		if r.Name() == name {
			n++
		}
	}
	return n
}

func responses(given []portaltest.Given) (list []portaltest.Response) {
	for _, g := range given {
		list = append(list, g.Response)
	}
	return list
}

// assertKept checks that the responses that a reader received are still there, in order, except the latest. It
// returns the number of responses that are there and the age of the oldest lost one.
func assertKept(t *testing.T, had []portaltest.Given, all []unit, killed testclock.Clock) (held int, lost time.Duration) {
	t.Helper()
	texts := expander{}
	for i, g := range had {
		units := texts.take(responseEntry(g.Response))
		if same := common(units, all); same < len(units) {
			lost = killed.Sub(g.At)
			if lost > durableAtMost {
				t.Errorf("lost although received %v before the end: %v, but %v", lost, g.Response, all[:min(same+3, len(all))])
			}
			return i, lost
		}
		all = all[len(units):]
	}
	return len(had), 0
}

// common returns the length of the common prefix of two lists.
func common(a, b []unit) int {
	for i := range a {
		if i == len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// assertCounted checks that the model's count is there once and in order. All of it may be missing if it was too
// young to be kept.
func assertCounted(t *testing.T, round []unit) {
	t.Helper()
	var text, want strings.Builder
	for _, u := range round {
		text.WriteString(u.char)
	}
	for i := 1; want.Len() < text.Len(); i++ {
		fmt.Fprintf(&want, "w%d ", i)
	}
	assert.True(t, strings.HasPrefix(want.String(), text.String()), "it does not count on: %s", text.String())
}

// assertLines checks that lines exported before are still exported.
func assertLines(t *testing.T, exports []dated, now []string, killed testclock.Clock) {
	t.Helper()
	all := expandLines(t, now)
	for _, e := range exports {
		if killed.Sub(e.at) <= durableAtMost {
			continue
		}
		had := expandLines(t, e.lines)
		if same := common(had, all); same < len(had) {
			t.Errorf("exported %v before the end, and not there: %v, but %v", killed.Sub(e.at), had[same], all[same:min(same+3, len(all))])
			return
		}
	}
}

// assertContinues checks that the reader with the constant token misses nothing; it may receive responses again.
func (l *killedSession) assertContinues(had, all []unit) {
	l.Helper()
	l.steady = l.portal.Follow(l.session, "steady")
	same := common(had, all)
	rest := expandResponses(l.steady.Wait("the end", func(list []portaltest.Response) bool {
		return len(list) > 0 && list[len(list)-1].Name() == "onIdle" && len(expandResponses(list)) >= len(all)-same
	}))
	skipped := len(all) - len(rest)
	require.GreaterOrEqual(l, skipped, 0, "a response arrived twice")
	assert.LessOrEqual(l, skipped, same, "the reader missed the responses before %v", rest[0])
	if alike := common(rest, all[skipped:]); alike < len(rest) {
		l.Errorf("the reader was given %v for %v", rest[alike], all[skipped+alike])
	}
}

// assertKnowsThePast checks that the model knows the earlier prompts.
func (l *killedSession) assertKnowsThePast() {
	l.Helper()
	l.prompts = append(l.prompts, "recall")
	before := len(l.steady.Given())
	l.portal.Query(l.session, "recall")
	list := l.steady.Wait("the answer", func(list []portaltest.Response) bool { return count(list[before:], "onIdle") == 1 })
	answer := portaltest.Answer(list[before:])
	for _, prompt := range l.prompts[:len(l.prompts)-1] {
		assert.Contains(l, answer, prompt)
	}
}

// kept reports whether the database of a portal contains a text.
func kept(t *testing.T, p *portaltest.Portal, text string) bool {
	t.Helper()
	var found int
	err := database(t, p.DataDir()).QueryRowContext(t.Context(), "SELECT count(*) FROM meta WHERE instr(data, ?) > 0", text).Scan(&found)
	require.NoError(t, err)
	return found > 0
}

// settle waits until the events that clients received are durable, on a busy machine.
func settle() { testclock.Settle(durableAtMost) }

// goOn sends a prompt to a session with a past and returns the responses.
func goOn(t *testing.T, p *portaltest.Portal, id, prompt string) []portaltest.Response {
	t.Helper()
	runs := len(outcomes(t, lines(t, p, id)))
	reader := p.Follow(id, fmt.Sprintf("goes-on-%d", rand.Uint64()))
	before := len(reader.Wait("the past", func(list []portaltest.Response) bool { return count(list, "onIdle") == runs }))
	p.Query(id, prompt)
	return reader.Wait("the answer", func(list []portaltest.Response) bool { return count(list, "onIdle") == runs+1 })[before:]
}
