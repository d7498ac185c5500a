package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// cli returns the path of the real Copilot CLI, which `make build` downloads.
func cli(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	require.NoError(tb, err)
	path := filepath.Join(dir, "..", "..", "..", "bin", "copilot")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err = exec.LookPath("copilot")
	require.NoError(tb, err, "the Copilot CLI is missing: run make build (make test does it)")
	return path
}

// environ returns the environment of a CLI without the user's settings and shell startup files, which the CLI would
// wait for. It has a gh without a sign-in, because the CLI searches for a missing one repeatedly. The CLI unpacks
// itself once into the cache.
func environ(home string) []string {
	env := append(os.Environ(), "HOME="+home, "COPILOT_HOME="+home)
	if gh, err := filepath.Abs("../../../server/portaltest/signedout"); err == nil {
		env = append(env, "PATH="+gh+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "XDG_CACHE_HOME="+cache)
	}
	return env
}

// options returns the options of a driver of the real CLI with its own home. It has no account, because the CLI would start gh four times
// for each session and twice for each prompt.
func options(tb testing.TB) sdk.Options {
	tb.Helper()
	return sdk.Options{
		Locate:         sdk.Locate{Configured: cli(tb)},
		Env:            environ(tb.TempDir()),
		Demo:           demoModel(tb),
		DemoAlways:     true,
		WithoutAccount: true,
		Log:            slog.New(slog.DiscardHandler),
	}
}

// demoModel starts the scripted model on demand.
func demoModel(tb testing.TB) func() (sdk.Provider, error) {
	tb.Helper()
	return sync.OnceValues(func() (sdk.Provider, error) {
		s, err := demo.Start()
		if err != nil {
			return sdk.Provider{}, err
		}
		tb.Cleanup(func() { _ = s.Close() })
		return sdk.Provider{
			Name: "portal-demo", Title: demo.ModelName, Type: "openai",
			BaseURL: s.URL(), APIKey: s.Key(), Models: []string{demo.ModelID},
		}, nil
	})
}

// launch starts the real CLI and stops it at the end of the test.
func launch(tb testing.TB, d *sdk.Driver) *sdk.Agent {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	a, err := d.Launch(ctx)
	require.NoError(tb, err)
	agent, ok := a.(*sdk.Agent)
	require.True(tb, ok)
	tb.Cleanup(func() { stop(tb, agent) })
	return agent
}

func stop(tb testing.TB, a *sdk.Agent) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	a.Stop(ctx)
	require.NoError(tb, ctx.Err(), "the CLI did not stop gracefully")
}

// talk is a conversation under test with its events.
type talk struct {
	agent.Conversation
	t       testing.TB
	opening agent.Opening

	mu     sync.Mutex
	bodies []event.Body
	read   int           // number of events that the test has read
	more   chan struct{} // closed when there are more events
}

// late is the time after which a missing call or event counts as hanging. Tests of durations measure them.
const late = time.Minute

// open opens a conversation on the demo model.
func open(tb testing.TB, a agent.Agent, change func(*agent.Opening)) *talk {
	tb.Helper()
	o := agent.Opening{Session: uuid.NewString(), Model: demo.ModelID, Directory: tb.TempDir(), AskUser: true}
	if change != nil {
		change(&o)
	}
	c := &talk{t: tb, opening: o, more: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	var err error
	c.Conversation, err = a.Open(ctx, o, c.sink)
	require.NoError(tb, err)
	return c
}

func (c *talk) sink(_ string, b event.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, b)
	close(c.more)
	c.more = make(chan struct{})
}

// got returns all events so far.
func (c *talk) got() []event.Body {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// send sends a prompt to the agent.
func (c *talk) send(prompt string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	require.NoError(c.t, c.Send(ctx, event.Prompt{Text: prompt}))
}

// next returns the next body, or false if none comes within d.
func (c *talk) next(d time.Duration) (event.Body, bool) {
	late := time.After(d)
	for {
		c.mu.Lock()
		if c.read < len(c.bodies) {
			b := c.bodies[c.read]
			c.read++
			c.mu.Unlock()
			return b, true
		}
		more := c.more
		c.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return nil, false
		}
	}
}

// until skips to the next body of a type and returns it with the skipped ones.
func until[B event.Body](c *talk) (B, []event.Body) {
	c.t.Helper()
	var passed []event.Body
	for {
		b, ok := c.next(late)
		if !ok {
			require.FailNow(c.t, "missing event", "%T; but %s", *new(B), show(passed))
		}
		passed = append(passed, b)
		if found, ok := b.(B); ok {
			return found, passed
		}
	}
}

// run sends a prompt and returns the events until the agent is idle.
func (c *talk) run(prompt string) []event.Body {
	c.t.Helper()
	c.send(prompt)
	_, passed := until[event.Idle](c)
	return passed
}

// answer answers a question.
func (c *talk) answer(q event.Question, a event.Answer) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	require.NoError(c.t, c.Answer(ctx, q, a))
}

// abort aborts the run and returns how long it took until the agent was idle.
func (c *talk) abort() time.Duration {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	begin := testclock.Now()
	require.NoError(c.t, c.Abort(ctx))
	until[event.Idle](c)
	return begin.Elapsed()
}

func (c *talk) close() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	require.NoError(c.t, c.Close(ctx))
}

// said returns the text of the last message.
func said(bodies []event.Body) string {
	text := ""
	for _, b := range bodies {
		if m, ok := b.(event.MessageEnded); ok && m.Text != "" {
			text = m.Text
		}
	}
	return text
}

// all returns the bodies of a type.
func all[B event.Body](bodies []event.Body) []B {
	var list []B
	for _, b := range bodies {
		if found, ok := b.(B); ok {
			list = append(list, found)
		}
	}
	return list
}

func show(bodies []event.Body) string {
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "\n\t%T %+v", body, body)
	}
	return b.String()
}

// children returns the command lines of living processes with a variable in their environment.
func children(tb testing.TB, variable string) map[int]string {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(tb, err)
	list := map[int]string{}
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(variable+"\x00")) {
			continue
		}
		var pid int
		_, err = fmt.Sscanf(f, "/proc/%d/environ", &pid)
		require.NoError(tb, err)
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		list[pid] = strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return list
}

// untilExists is a command that ends when a file exists.
func untilExists(file string) string { return "until test -e " + file + "; do sleep 0.1; done" }

// delayed holds back answers to matching requests until hold is closed.
func delayed(h http.Handler, about string, seen chan<- struct{}, hold <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(about)) {
			select {
			case seen <- struct{}{}:
			default:
			}
			<-hold
		}
		h.ServeHTTP(w, r)
	})
}

// counted stores the path of the last request for an answer.
func counted(h http.Handler, last *atomic.Value) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			last.Store(r.URL.Path)
		}
		h.ServeHTTP(w, r)
	})
}

// listing lists one model at the usual path and refuses to answer.
func listing(model string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusBadRequest)
		case strings.HasSuffix(r.URL.Path, "/v1/models"):
			fmt.Fprintf(w, `{"data":[{"id":%q}]}`, model)
		default:
			http.NotFound(w, r)
		}
	})
}
