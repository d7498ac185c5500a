package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// BenchmarkStored measures a portal on a data directory as long use leaves it:
// its start, searching and reading.
func BenchmarkStored(b *testing.B) {
	once(b, func() {
		begin := time.Now()
		a := newArchive(b)
		b.ReportMetric(time.Since(begin).Seconds(), "s-to-write")
		b.ReportMetric(size(b, a.directory)/1e6, "MB-on-disk")
		a.start(b)
		a.startAfterKill(b)
		a.inHost(b, a.search)
		a.inHost(b, a.read)
	})
}

// size is that of the files of a directory.
func size(b *testing.B, directory string) (sum float64) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*"))
	require.NoError(b, err)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(b, err)
		sum += float64(info.Size())
	}
	return sum
}

func portalOn(b *testing.B, directory string) *exec.Cmd {
	b.Helper()
	c := portalCommand(b)
	c.Args = append(c.Args, "--data-dir", directory)
	return c
}

// starts is what was seen of a portal's starts; times count from the start of
// the process.
type starts struct {
	ready, list, old []time.Duration
	peak             []float64
}

// start measures the start on the archive against that on an empty directory.
func (a *archive) start(b *testing.B) {
	b.Helper()
	var full, empty starts
	alternate(func(i int) { full.add(b, a.directory, name(i*a.sessions/pairs)) }, func(int) { empty.add(b, b.TempDir(), "") })
	what := fmt.Sprintf("start with %d sessions, %d events", a.sessions, a.sessions*eventsEach)
	report.add(what+" to the first answer", ms(median(full.ready)), "1 s", ms(median(empty.ready))+": an empty data directory")
	report.add("  to the first page of the list", ms(median(full.list)), "", ms(median(empty.list)))
	report.add("  to the past of an old session by live/{token}", ms(median(full.old)), "", "")
	report.add("  peak memory after that", mb(median(full.peak)), "200 MB", mb(median(empty.peak)))
	b.ReportMetric(median(full.ready).Seconds()*1e3, "ms-to-start")
	b.ReportMetric(median(full.peak)/1e6, "MB-peak")
}

// add starts a portal and notes when it can do what.
func (s *starts) add(b *testing.B, directory, session string) {
	b.Helper()
	run(b, portalOn(b, directory), func(p program) {
		s.ready = append(s.ready, p.ready)
		require.Contains(b, string(call(b, "GET", p.url+"/health", "")), `"storage":{"state":"ok"`)
		listed := list(b, p)
		s.list = append(s.list, time.Since(p.begin))
		require.Equal(b, session != "", listed > 0)
		if session != "" {
			past := call(b, "GET", p.url+"/api/copilot/session/"+session+"/live/reader", "")
			s.old = append(s.old, time.Since(p.begin))
			require.Contains(b, string(past), "onUserMessage")
		}
		s.peak = append(s.peak, memory(b, p.pid, "VmHWM"))
	})
}

// list asks for the first page of the list of sessions, and tells how many are on it.
func list(b *testing.B, p program) int {
	b.Helper()
	var page struct {
		Sessions []json.RawMessage `json:"sessions"`
	}
	require.NoError(b, json.Unmarshal(call(b, "GET", p.url+"/api/copilot/session", ""), &page))
	return len(page.Sessions)
}

// killed is how many sessions a process had that was killed, each in a run; and
// kills how often that is measured.
const (
	killed = 500
	kills  = 3
)

// startAfterKill measures the start when there is something to put in order.
func (a *archive) startAfterKill(b *testing.B) {
	b.Helper()
	var s starts
	var mended []time.Duration
	for round := range kills {
		a.kill(b, round)
		other, err := store.Open(b.Context(), store.Options{Directory: a.directory})
		require.NoError(b, err)
		run(b, portalOn(b, a.directory), func(p program) {
			list(b, p)
			s.ready, s.list = append(s.ready, p.ready), append(s.list, time.Since(p.begin))
			for left := 1; left > 0; {
				time.Sleep(10 * time.Millisecond)
				ids, err := other.Orphans(b.Context())
				require.NoError(b, err)
				left = len(ids)
			}
			mended = append(mended, time.Since(p.begin))
			s.peak = append(s.peak, memory(b, p.pid, "VmHWM"))
		})
		require.NoError(b, other.Close())
	}
	report.add(fmt.Sprintf("start after a kill with %d runs, to the first answer", killed), ms(median(s.ready)), "1 s", "")
	report.add("  to the first page of the list", ms(median(s.list)), "", "")
	report.add("  until all are put in order", ms(median(mended)), "", "")
	report.add("  peak memory after that", mb(median(s.peak)), "200 MB", "")
	b.ReportMetric(median(mended).Seconds()*1e3, "ms-to-mend")
}

// kill leaves sessions behind as a killed process does.
func (a *archive) kill(b *testing.B, round int) {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{Directory: a.directory, Delay: time.Millisecond})
	require.NoError(b, err)
	for i := range killed {
		l := a.create(b, s, fmt.Sprintf("killed-%d-%d", round, i), 1)
		a.run(b, l, 0, runEvents/2)
	}
	require.NoError(b, s.Flush(b.Context()))
	require.NoError(b, s.Kill())
}
