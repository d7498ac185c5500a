package bench_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
)

// What an archive holds: 5 million events and 200,000 messages that can be
// searched. With -short it is a fiftieth, to see that the benchmarks work.
const (
	archived   = 10_000 // sessions
	runsEach   = 10
	eventsEach = runsEach * runEvents
	runEvents  = 50
	groupRuns  = 5
	together   = 50  // sessions that are written at the same time
	longRuns   = 400 // of the long session: 20,000 events
	longID     = "long"
	textPieces = 10_000 // of the one text of a session that was killed before it could leave them out
	textID     = "text"
)

// archive is a data directory as long use leaves it.
type archive struct {
	directory string
	sessions  int
	words     *words
}

// newArchive writes what a portal would have written, with the same encoding of
// events, but without agents.
func newArchive(b *testing.B) *archive {
	b.Helper()
	a := &archive{directory: b.TempDir(), sessions: archived, words: newWords()}
	if testing.Short() {
		a.sessions /= 50
	}
	s, err := store.Open(b.Context(), store.Options{Directory: a.directory, Delay: time.Millisecond})
	require.NoError(b, err)
	for first := 0; first < a.sessions; first += together {
		a.write(b, s, name, first, min(together, a.sessions-first), runsEach)
	}
	a.writeText(b, s)
	a.write(b, s, func(int) string { return longID }, 0, 1, longRuns)
	a.settle(b, s)
	a.check(b, s)
	require.NoError(b, s.Close())
	return a
}

// name is the id of a session.
func name(i int) string { return fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i) }

// write makes sessions. A few of their runs are a group, so that there is
// something to merge.
func (a *archive) write(b *testing.B, s *store.Store, id func(int) string, first, n, runs int) {
	b.Helper()
	leases := make([]*store.Lease, n)
	for i := range leases {
		leases[i] = a.create(b, s, id(first+i), uint64(runEvents*(runs-1)+1))
	}
	for run := range runs {
		for _, l := range leases {
			a.run(b, l, run, runEvents)
		}
		if run%groupRuns == 0 {
			require.NoError(b, s.Flush(b.Context()))
		}
	}
	for _, l := range leases {
		require.NoError(b, l.Merge())
		require.NoError(b, l.Release(b.Context()))
	}
}

// writeText makes the session with one long text.
func (a *archive) writeText(b *testing.B, s *store.Store) {
	b.Helper()
	l := a.create(b, s, textID, 1)
	for i := range textPieces + 2 {
		var body event.Body = event.MessageDelta{ID: "m", Text: a.words.one() + " "}
		switch i {
		case 0:
			body = event.RunStarted{}
		case textPieces + 1:
			body = event.MessageEnded{ID: "m", Text: "all of it"}
		}
		require.NoError(b, l.Append(store.Entry{Number: uint64(i) + 1, Data: encoded(b, 0, i, body)}))
		if i%runEvents == 0 {
			require.NoError(b, s.Flush(b.Context()))
		}
	}
	require.NoError(b, l.Merge())
	require.NoError(b, l.Release(b.Context()))
}

// create makes a session whose last run begins at a number.
func (a *archive) create(b *testing.B, s *store.Store, id string, lastRun uint64) *store.Lease {
	b.Helper()
	l, err := s.Create(b.Context(), store.Session{
		ID: id, Origin: "rest", Title: a.words.some(5), Model: "model-a", Directory: "/project/" + a.words.one(),
		Meta: fmt.Appendf(nil, `{"model":{"name":"Model A","multiplier":1},"usage":{"used":20000,"limit":128000},"said":true,"run":%d,"epoch":%d}`,
			lastRun, rand.Uint32()),
	})
	require.NoError(b, err)
	return l
}

// run writes the first events of a run, up to all of them.
func (a *archive) run(b *testing.B, l *store.Lease, run, events int) {
	b.Helper()
	prompt, answer := a.words.some(12), a.words.some(40)
	if run == 0 {
		prompt += " " + uniqueWord(l.Session())
	}
	before := uint64(run * runEvents)
	for i, line := range a.words.lines(b, run, prompt, answer)[:events] {
		require.NoError(b, l.Append(store.Entry{Number: before + uint64(i) + 1, Data: line}))
	}
	require.NoError(b, l.Index(store.Text{Number: before + 2, Kind: string(event.TextPrompt), Body: prompt}))
	if events == runEvents {
		require.NoError(b, l.Index(store.Text{Number: before + runEvents - 2, Kind: string(event.TextAnswer), Body: answer}))
	}
}

// uniqueWord is a word that only one session has.
func uniqueWord(session string) string { return "needle" + session[max(0, len(session)-6):] }

// settle waits until the records are merged, as they are long before anybody
// comes back to them. The writer does a bit of it each time something is asked of it.
func (a *archive) settle(b *testing.B, s *store.Store) {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(a.directory, "sessions.db"))
	require.NoError(b, err)
	defer db.Close()
	size := func() (bytes int64) {
		require.NoError(b, s.Flush(b.Context()))
		const query = "SELECT sum(length(data)) FROM segment WHERE session = (SELECT key FROM session WHERE id = ?)"
		require.NoError(b, db.QueryRowContext(b.Context(), query, longID).Scan(&bytes))
		return bytes
	}
	for limit := time.Now().Add(time.Minute); size() > longRuns*runEvents*plainEvent/2; {
		require.True(b, time.Now().Before(limit), "the records are not merged: %d bytes", size())
	}
}

// check counts what was written.
func (a *archive) check(b *testing.B, s *store.Store) {
	b.Helper()
	sessions, events := 0, uint64(0)
	for after := (store.Cursor{}); ; {
		list, err := s.List(b.Context(), after, 1000)
		require.NoError(b, err)
		if len(list) == 0 {
			break
		}
		for _, head := range list {
			sessions, events = sessions+1, events+head.Last
		}
		after = list[len(list)-1].Cursor()
	}
	require.Equal(b, a.sessions+2, sessions)
	require.Equal(b, uint64(a.sessions*eventsEach+longRuns*runEvents+textPieces+2), events)
}

// plainEvent is the least that an event takes before it is merged, in bytes.
const plainEvent = 100

// words makes texts of words of which some are frequent and most are rare, the
// same in every run of the benchmark.
type words struct {
	random *rand.Rand
	known  []string
	runs   map[int][][]byte // the lines that are the same in all sessions
}

const language = 20_000 // words

func newWords() *words {
	w := &words{random: rand.New(rand.NewPCG(1, 2)), runs: map[int][][]byte{}}
	for i := range language {
		text := []byte{}
		for n := i + 5; n > 0; n /= 13 {
			text = append(text, "bdfgklmnprstv"[n%13], "aeiou"[(n+i)%5])
		}
		w.known = append(w.known, string(text))
	}
	return w
}

// one draws a word. The lower its place, the more frequent it is: the first few
// are in every text, the last in a few of all.
func (w *words) one() string {
	u := w.random.Float64()
	return w.known[min(int(math.Pow(language, u)), language)-1]
}

func (w *words) some(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = w.one()
	}
	return strings.Join(list, " ")
}

// lines are the events of a run, encoded.
func (w *words) lines(b *testing.B, run int, prompt, answer string) [][]byte {
	b.Helper()
	if w.runs[run] == nil {
		for i, body := range w.bodies(run) {
			w.runs[run] = append(w.runs[run], encoded(b, run, i, body))
		}
	}
	lines := append([][]byte(nil), w.runs[run]...)
	lines[1] = encoded(b, run, 1, event.UserMessage{Prompt: event.Prompt{Text: prompt}})
	lines[runEvents-3] = encoded(b, run, runEvents-3, event.MessageEnded{ID: id(run, "message"), Text: answer})
	return lines
}

func id(run int, of string) string { return fmt.Sprintf("%s-%08x", of, run*2654435761%(1<<32)) }

// bodies are what happens in a run: a tool is called, then the answer is said.
func (w *words) bodies(run int) []event.Body {
	tool, message := id(run, "call"), id(run, "message")
	list := []event.Body{
		event.RunStarted{},
		event.UserMessage{},
		event.TurnStarted{ID: id(run, "turn")},
		event.ToolStarted{ID: tool, Name: "bash", Arguments: []byte(`{"command":"go test ./..."}`)},
		event.ToolOutput{ID: tool, Text: w.some(20)},
		event.ToolEnded{ID: tool, Result: &event.ToolResult{Content: w.some(40)}},
		event.MessageStarted{ID: message},
	}
	for len(list) < runEvents-3 {
		list = append(list, event.MessageDelta{ID: message, Text: w.one() + " "})
	}
	return append(list, event.MessageEnded{ID: message}, event.TurnEnded{ID: id(run, "turn")}, event.RunEnded{Outcome: event.Completed})
}

// encoded is an event at its time: a run every five minutes, an event every 30 ms.
func encoded(b *testing.B, run, i int, body event.Body) []byte {
	b.Helper()
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC).Add(time.Duration(run)*5*time.Minute + time.Duration(i)*30_123_457)
	line, err := event.Encode(event.Event{Time: at, Run: id(run, "0198c0de-1111-7000-8000"), Body: body})
	require.NoError(b, err)
	return line
}
