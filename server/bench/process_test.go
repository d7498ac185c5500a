package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// bareVariable makes the test's own binary a bare net/http server, the baseline
// for what a server in Go costs.
const bareVariable = "PORTAL_BENCH_BARE"

// pollTime is how long a poll of the portal waits.
const pollTime = 5 * time.Second

func serveBare() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/api/config", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	http.HandleFunc("/live/", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(pollTime):
		case <-r.Context().Done():
		}
	})
	serveFans()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	fmt.Printf("SIDECAR_PORT=%s\n", port)
	panic(http.Serve(l, nil))
}

// program is a server that was started for a moment.
type program struct {
	url   string
	pid   int
	begin time.Time     // when it was started
	ready time.Duration // from then to its first answer
}

// run starts a server, has it answer once and ends it after do.
func run(tb testing.TB, c *exec.Cmd, do func(program)) {
	tb.Helper()
	out, err := c.StdoutPipe()
	require.NoError(tb, err)
	begin := time.Now()
	require.NoError(tb, c.Start())
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(tb, err)
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "SIDECAR_PORT=")
	require.True(tb, ok, line)
	p := program{url: "http://127.0.0.1:" + port, pid: c.Process.Pid, begin: begin}
	call(tb, "GET", p.url+"/api/config", "")
	p.ready = time.Since(begin)
	do(p)
}

func portalCommand(tb testing.TB) *exec.Cmd {
	tb.Helper()
	home := tb.TempDir()
	c := exec.Command(portaltest.Binary(tb), "--port", "0")
	c.Env = portaltest.Environ(home)
	return c
}

func bareCommand(tb testing.TB) *exec.Cmd {
	tb.Helper()
	path, err := os.Executable()
	require.NoError(tb, err)
	c := exec.Command(path)
	c.Env = append(os.Environ(), bareVariable+"=1")
	return c
}

// memory is a line of /proc/<pid>/status, such as VmRSS, in bytes.
func memory(tb testing.TB, pid int, name string) float64 {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(tb, err)
	bytes := bytesIn(status, name)
	require.Positive(tb, bytes, "%s", status)
	return bytes
}

// bytesIn reads a line of a process's status; 0 if it is not there.
func bytesIn(status []byte, name string) float64 {
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	kb, _ := strconv.Atoi(string(m[1])) // they are digits
	return float64(kb) * 1024
}

// cpuTime is what all threads of a process have used, in user and system mode.
// /proc/<pid>/stat counts in steps of 10 ms only.
func cpuTime(tb testing.TB, pid int) (sum time.Duration) {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	require.NoError(tb, err)
	require.NotEmpty(tb, threads)
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		require.NoError(tb, err)
		ns, _, _ := strings.Cut(string(stat), " ")
		used, err := strconv.ParseInt(ns, 10, 64)
		require.NoError(tb, err)
		sum += time.Duration(used)
	}
	return sum
}

const (
	settled = 500 * time.Millisecond // for which a server is left alone before its memory counts
	started = 4 * time.Second        // the same after its start: after 3 s, a portal returns memory that only the start needed
)

// BenchmarkStart measures the time to the first answer and what the portal occupies a while later, the pages of its executable included.
func BenchmarkStart(b *testing.B) {
	once(b, func() {
		type side struct {
			ready []time.Duration
			idle  []float64
			own   []float64
		}
		measure := func(s *side, command func(testing.TB) *exec.Cmd) {
			run(b, command(b), func(p program) {
				time.Sleep(started)
				s.ready = append(s.ready, p.ready)
				s.idle = append(s.idle, memory(b, p.pid, "VmRSS"))
				s.own = append(s.own, memory(b, p.pid, "RssAnon"))
			})
		}
		var ours, theirs side
		alternate(func(int) { measure(&ours, portalCommand) }, func(int) { measure(&theirs, bareCommand) })
		report.add("start to the first answered request", ms(median(ours.ready)), "50 ms", ms(median(theirs.ready))+": a bare net/http server")
		report.add("idle memory of the portal alone", mb(median(ours.idle)), "27 MB, at most 45",
			mb(median(theirs.idle))+": a bare net/http server")
		report.add("  of it not pages of the executable", mb(median(ours.own)), "", mb(median(theirs.own)))
		b.ReportMetric(median(ours.ready).Seconds()*1e3, "ms")
		b.ReportMetric(median(ours.idle)/1e6, "MB")
	})
}

// readers is how many wait in [BenchmarkReaders].
const readers = 500

// BenchmarkReaders measures what a waiting reader of live/{token} costs: its
// connection, the server's goroutines and buffers for it, its bookmark.
func BenchmarkReaders(b *testing.B) {
	once(b, func() {
		model := startModel(b)
		var ours, theirs []float64
		alternate(func(int) {
			p := start(b, model)
			session := newSession(b, p, b.TempDir())
			ours = append(ours, perReader(b, p.PID, func(i int) string { return fmt.Sprintf("%s/live/t%d", session, i) }))
			p.Stop()
		}, func(int) {
			run(b, bareCommand(b), func(p program) {
				theirs = append(theirs, perReader(b, p.pid, func(i int) string { return fmt.Sprintf("%s/live/%d", p.url, i) }))
			})
		})
		report.add("memory of a waiting live/{token} reader", fmt.Sprintf("%.1f kB", median(ours)/1e3), "",
			fmt.Sprintf("%.1f kB: a waiting request of a bare net/http server", median(theirs)/1e3))
		b.ReportMetric(median(ours), "B/reader")
	})
}

// perReader is by how much a server grows for each of many polls that wait.
func perReader(tb testing.TB, pid int, url func(i int) string) float64 {
	tb.Helper()
	before := memory(tb, pid, "VmRSS")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for i := range readers {
		go func() {
			for ctx.Err() == nil { // what is there is read first, then it waits
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url(i), http.NoBody)
				resp, err := transport.RoundTrip(r)
				if err == nil {
					resp.Body.Close()
				}
			}
		}()
	}
	time.Sleep(1500 * time.Millisecond) // all wait by then
	return (memory(tb, pid, "VmRSS") - before) / readers
}

// BenchmarkConfig measures requests while the agent is at work on a turn and a
// reader follows.
func BenchmarkConfig(b *testing.B) {
	once(b, func() {
		p := start(b, startModel(b))
		open := openPortal(b, p)
		url := p.URL + "/api/config"
		ask := func() (p99 time.Duration) {
			each := make([]time.Duration, 300)
			for i := range each {
				begin := time.Now()
				call(b, "GET", url, "")
				each[i] = time.Since(begin)
				time.Sleep(time.Millisecond)
			}
			return quantile(each, 0.99)
		}
		var turn, burst, quiet []time.Duration
		during := func(perSecond int) (p99 time.Duration) {
			open.in(b, func(t *talk) {
				t.prompt(stream(20_000, perSecond))
				for range 20 {
					t.until(b, func(h heard) bool { return h.kind == delta })
				}
				p99 = ask()
				t.cancel()
				t.until(b, func(h heard) bool { return h.kind == idle })
			})
			return p99
		}
		alternate(func(int) { turn, burst = append(turn, during(200)), append(burst, during(0)) }, func(int) { quiet = append(quiet, ask()) })
		report.add("config answered during a turn (200 chunks/s), p99", ms(median(turn)), "5 ms", ms(median(quiet))+": while nothing goes on")
		report.add("config answered during a burst, p99", ms(median(burst)), "5 ms", "")
		b.ReportMetric(float64(median(turn).Microseconds()), "µs-p99")
		b.ReportMetric(float64(median(burst).Microseconds()), "µs-p99-burst")
	})
}
