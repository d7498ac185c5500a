package ndjson_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
)

// frame is a message received by the program.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	at time.Duration // since the first program started
}

// chat returns the parameters of a chat.
func (f frame) chat() (message, tab string) {
	var p struct {
		Message string
		Context struct{ TabID string }
	}
	_ = json.Unmarshal(f.Params, &p) // a test notices what is missing
	return p.Message, p.Context.TabID
}

// cli is one process of a scripted program.
type cli struct {
	fakes *fakes
	out   io.WriteCloser
	in    io.Closer
	gone  chan struct{}
	once  sync.Once
	mu    sync.Mutex
}

// die ends the program.
func (c *cli) die() {
	c.once.Do(func() {
		_ = c.out.Close()
		_ = c.in.Close()
		close(c.gone)
	})
}

// print writes to its standard output.
func (c *cli) print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.out, format, args...) // the program may be dead
}

func (c *cli) chunk(f frame, index int, text string) {
	c.print(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":%s,"chunk":%q,"done":false,"index":%d}}`+"\n", f.ID, text, index)
}

func (c *cli) result(f frame, result string) {
	c.print(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", f.ID, result)
}

func (c *cli) say(f frame, text string) {
	raw, _ := json.Marshal(map[string]string{"message": text})
	c.result(f, string(raw))
}

func (c *cli) fail(f frame, code int) {
	c.print(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n", f.ID, code)
}

// fakes starts programs in memory, for bubbles of testing/synctest.
type fakes struct {
	serve func(*cli, frame) // runs on its own goroutine for each frame
	begun time.Time

	mu       sync.Mutex
	programs []*cli
	frames   []frame
	work     sync.WaitGroup
	listen   chan struct{} // if not nil, programs read only one message before it is closed
}

func newFakes(t *testing.T, serve func(*cli, frame)) *fakes {
	t.Helper()
	f := &fakes{serve: serve, begun: time.Now()}
	t.Cleanup(func() {
		f.kill()
		f.work.Wait()
	})
	return f
}

// launch returns the agent of a new program.
func (f *fakes) launch(t *testing.T) agent.Agent {
	t.Helper()
	a, err := ndjson.LaunchOf(f.start, silent)(t.Context())
	require.NoError(t, err)
	return a
}

func (f *fakes) start() (ndjson.Program, error) {
	in, ourIn := io.Pipe()
	ourOut, out := io.Pipe()
	c := &cli{fakes: f, in: in, out: out, gone: make(chan struct{})}
	f.mu.Lock()
	f.programs = append(f.programs, c)
	f.mu.Unlock()
	f.work.Go(func() { c.read(in) })
	return ndjson.Program{In: ourIn, Out: ourOut, Gone: c.gone, Terminate: c.die, Kill: c.die}, nil
}

func (c *cli) read(in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var f frame
		if json.Unmarshal(lines.Bytes(), &f) != nil {
			f.Method = "garbage"
		}
		f.at = time.Since(c.fakes.begun)
		c.fakes.mu.Lock()
		c.fakes.frames = append(c.fakes.frames, f)
		c.fakes.mu.Unlock()
		c.fakes.work.Go(func() { c.fakes.serve(c, f) })
		if c.fakes.listen != nil {
			select {
			case <-c.fakes.listen:
			case <-c.gone:
			}
		}
	}
	c.die()
}

// kill ends all programs.
func (f *fakes) kill() {
	f.mu.Lock()
	programs := f.programs
	f.mu.Unlock()
	for _, c := range programs {
		c.die()
	}
}

// got returns when frames of a method arrived.
func (f *fakes) got(method string) (times []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, frame := range f.frames {
		if frame.Method == method {
			times = append(times, frame.at)
		}
	}
	return times
}

func (f *fakes) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.programs)
}

var silent = slog.New(slog.DiscardHandler)

// greeted answers greetings and passes other frames to serve.
func greeted(serve func(*cli, frame)) func(*cli, frame) {
	return func(c *cli, f frame) {
		if f.Method == "initialize" {
			c.result(f, `{"serverName":"fake-cli","serverVersion":"1.2.3","capabilities":{"streaming":true}}`)
			return
		}
		serve(c, f)
	}
}
