package bench_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roundsVariable is how often each comparison of [BenchmarkFanout] is made; 5 if it is not set.
const roundsVariable = "BENCH_ROUNDS"

// load is what the readers of one stream receive.
type load struct {
	chunks    int
	perSecond int // 0 for as fast as they are taken
}

func (l load) prompt() string {
	return fmt.Sprintf("stream %d lines at %d/s", l.chunks, l.perSecond)
}

// subject is the server process under test. begin prepares a stream for a crowd: connect
// adds a reader, and release lets the messages come.
type subject struct {
	pid   int
	begin func(*crowd, load) (connect, release func())
}

// figures are those of one stream, from its release until its last reader has all of it.
type figures struct {
	cpu      time.Duration // of the server process
	chunks   int64         // of the model, times readers
	messages int64         // of all readers
	bytes    int64         // on the wire, to all readers
	p50, p99 time.Duration // from the send of a chunk to a reader
	resident float64       // while the readers are still connected
}

func (f figures) cpuPerMillion() float64 { return f.cpu.Seconds() * 1e6 / float64(f.messages) }
func (f figures) messageBytes() float64  { return float64(f.bytes) / float64(f.messages) }

func (f figures) chunksPerMessage() float64 { return float64(f.chunks) / float64(f.messages) }

// measure has a number of readers follow a stream.
func (s subject) measure(b *testing.B, readers int, l load) figures {
	b.Helper()
	c := newCrowd(b)
	defer c.leave()
	connect, release := s.begin(c, l)
	for range readers {
		connect()
	}
	time.Sleep(settled) // all wait by then
	cpu, messages, bytes := cpuTime(b, s.pid), c.messages.Load(), c.bytes.Load()
	release()
	c.wait()
	time.Sleep(settled) // what the server does afterwards, such as storing, counts
	f := figures{
		cpu: cpuTime(b, s.pid) - cpu, messages: c.messages.Load() - messages, bytes: c.bytes.Load() - bytes,
		chunks: int64(readers) * int64(l.chunks), resident: memory(b, s.pid, "VmRSS"),
	}
	delays := c.delays(l.chunks)
	f.p50, f.p99 = quantile(delays, 0.5), quantile(delays, 0.99)
	return f
}

// round is what one process did: a burst, then a steady stream.
type round struct {
	burst, steady         figures
	peak, resident, after float64 // memory: the most, at the end, and without readers
}

func (s subject) round(b *testing.B, readers int, burst, steady load) round {
	b.Helper()
	r := round{burst: s.measure(b, readers, burst), steady: s.measure(b, readers, steady)}
	r.resident, r.peak = r.steady.resident, memory(b, s.pid, "VmHWM")
	time.Sleep(4 * settled)
	r.after = memory(b, s.pid, "VmRSS")
	return r
}

// BenchmarkFanout measures what it costs the portal to send the events of one
// session or operation to many readers, against a bare loop that sends as many
// messages of the same size. Each round has a new process of its own.
func BenchmarkFanout(b *testing.B) {
	for _, c := range carriers {
		b.Run(c.name, func(b *testing.B) {
			for _, readers := range []int{1, 50, 200, 1000} {
				b.Run(strconv.Itoa(readers), func(b *testing.B) { once(b, func() { c.compare(b, readers) }) })
			}
		})
	}
}

func (c carrier) compare(b *testing.B, readers int) {
	b.Helper()
	var ours, theirs []round
	burst, steady := load{chunks: c.burst}, load{chunks: 500, perSecond: 100}
	alternateTimes(fanoutRounds(b), func(int) {
		ours = append(ours, c.ofPortal(b, func(s subject) round { return s.round(b, readers, burst, steady) }))
	}, func(int) {
		like := ours[len(ours)-1]
		theirs = append(theirs, c.ofBare(b, like, func(s subject) round { return s.round(b, readers, burst, steady) }))
	})
	r := fanoutResult{c.name, readers, ours, theirs}
	fanoutReport = append(fanoutReport, r)
	b.ReportMetric(r.cpu(burstOf), "CPU-s/M-burst")
	b.ReportMetric(r.ratio(burstOf), "×bare-burst")
	b.ReportMetric(r.cpu(steadyOf), "CPU-s/M-steady")
	b.ReportMetric(r.ratio(steadyOf), "×bare-steady")
}

func fanoutRounds(b *testing.B) int {
	b.Helper()
	text := os.Getenv(roundsVariable)
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err, roundsVariable)
	require.Positive(b, n, roundsVariable)
	return n
}
