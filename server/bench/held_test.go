package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
)

// heldVariable makes the test's own binary a host with many open sessions, whose
// agents are scripted; it names the data directory, or is [nowhere].
const (
	heldVariable = "PORTAL_BENCH_HELD"
	nowhere      = "-"
)

// What the open sessions do: all say some words at the same time, and are quiet then.
const (
	heldSessions = 500
	heldWords    = 100 // of each
	heldTick     = 20 * time.Millisecond
	heldText     = "about as much as comes at a time "
)

// held is what many open sessions need, in bytes.
type held struct{ Resident, Heap, Peak float64 }

func hold(directory string) error {
	work, err := os.MkdirTemp("", "held")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	o := copilot.Options{Limits: copilot.Limits{Sessions: heldSessions, Runs: heldSessions}}
	if directory != nowhere {
		if o.Store, err = store.Open(context.Background(), store.Options{Directory: directory}); err != nil {
			return err
		}
		defer o.Store.Close()
	}
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(o)
	defer host.Close(context.Background())
	if err := talkAll(agents, host, work); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(weigh())
}

// talkAll opens the sessions and lets them say their words.
func talkAll(agents *fake.Agents, host *copilot.Host, work string) error {
	turns, over := make(chan *fake.Turn), make(chan struct{})
	agents.Script = func(t *fake.Turn) {
		turns <- t
		<-over
		t.Say("done")
	}
	var talking []*fake.Turn
	for range heldSessions {
		s, err := host.Start(context.Background(), copilot.Start{Model: "model-a", Directory: work})
		if err != nil {
			return err
		}
		if _, err := s.Prompt(event.Prompt{Text: "please"}); err != nil {
			return err
		}
		talking = append(talking, <-turns)
	}
	for range heldWords {
		for _, t := range talking {
			t.Emit(event.ReasoningDelta{ID: "r", Text: heldText})
		}
		time.Sleep(heldTick)
	}
	close(over)
	return nil
}

// weigh tells what this process needs when it rests, and has needed at most.
func weigh() held {
	time.Sleep(2 * settled) // what was said is stored by then
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return held{residentOf("VmRSS"), float64(m.HeapAlloc), residentOf("VmHWM")}
}

// residentOf is a line of this process's own status, in bytes; 0 if it cannot be read.
func residentOf(name string) float64 {
	status, _ := os.ReadFile("/proc/self/status")
	return bytesIn(status, name)
}

// BenchmarkHeld measures the memory of a host with 500 open sessions, agents
// included, with the store and without.
func BenchmarkHeld(b *testing.B) {
	once(b, func() {
		var with, without [3][]float64
		measure := func(into *[3][]float64, directory string) {
			path, err := os.Executable()
			require.NoError(b, err)
			c := exec.Command(path)
			c.Env, c.Stderr = append(os.Environ(), heldVariable+"="+directory), os.Stderr
			out, err := c.Output()
			require.NoError(b, err)
			var h held
			require.NoError(b, json.Unmarshal(out, &h))
			for i, value := range []float64{h.Resident, h.Heap, h.Peak} {
				require.Positive(b, value)
				into[i] = append(into[i], value)
			}
		}
		for range holds {
			measure(&with, b.TempDir())
			measure(&without, nowhere)
		}
		for i, what := range []string{
			fmt.Sprintf("memory of %d open sessions with %d events each", heldSessions, heldWords),
			"  of it on Go's heap", "  at most, while all of them spoke",
		} {
			report.add(what, mb(median(with[i])), "", mb(median(without[i]))+": without the store")
		}
		b.ReportMetric(median(differences(with[0], without[0]))/1e6, "MB-added")
	})
}

// holds is how often that is measured.
const holds = 3
