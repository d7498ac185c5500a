package ndjson_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// roleVariable makes the test binary a program that speaks the protocol.
const roleVariable = "PORTAL_TEST_CLI"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		speak(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// speak answers chats with their text; some texts and roles have special effects.
func speak(role string) {
	if role == "broken" {
		fmt.Fprintln(os.Stderr, "cannot find the moon")
		os.Exit(3)
	}
	if role == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var f frame
		if json.Unmarshal(lines.Bytes(), &f) != nil {
			continue
		}
		switch {
		case f.Method == "exit" && role == "stubborn":
			for {
				time.Sleep(time.Hour)
			}
		case f.Method == "exit":
			fmt.Fprintln(os.Stderr, "good bye")
			return
		case f.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"serverName":"fake-cli"}}`+"\n", f.ID)
		default:
			speakChat(f)
		}
	}
}

func speakChat(f frame) {
	text, _ := f.chat()
	switch {
	case text == "die":
		os.Exit(1)
	case text == "flood":
		for range 2000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		fmt.Fprintln(os.Stderr, "the flood is over")
	case text == "who":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"message":"%d"}}`+"\n", f.ID, os.Getpid())
		return
	case strings.HasPrefix(text, "long"):
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"message":"%s"}}`+"\n", f.ID, strings.Repeat("日", 1<<20))
		return
	}
	answer, _ := json.Marshal(map[string]string{"message": "you said " + text})
	fmt.Printf(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":%s,"chunk":"you said ","done":false,"index":0}}`+"\n", f.ID)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", f.ID, answer)
}

// log is a writer for concurrent use.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// own returns the options of the test binary in a role.
func own(t *testing.T, role string, to io.Writer) ndjson.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return ndjson.Options{
		Command: []string{self}, Env: append(os.Environ(), roleVariable+"="+role),
		Log: slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// launch returns the agent of the test binary in a role.
func launch(t *testing.T, role string, to io.Writer) agent.Agent {
	t.Helper()
	a, err := ndjson.New(own(t, role, to)).Launch(t.Context())
	require.NoError(t, err)
	return a
}

func say(t *testing.T, a agent.Agent, text string) string {
	t.Helper()
	answer, err := ndjson.Chat(t.Context(), a, "t", text, ignore)
	require.NoError(t, err)
	return answer
}

func TestRealProgram(t *testing.T) {
	t.Parallel()
	var to log
	a := launch(t, "well", &to)
	assert.Equal(t, "you said hello", say(t, a, "hello"))
	assert.Equal(t, "you said flood", say(t, a, "flood"), "its error output does not block")
	assert.Len(t, say(t, a, "long"), 3<<20)
	assert.Equal(t, "you said "+strings.Repeat("größer", 100_000), say(t, a, strings.Repeat("größer", 100_000)))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a.Stop(ctx)
	assert.Contains(t, to.String(), "the flood is over")
	assert.Contains(t, to.String(), "good bye", "it received exit")
}

func TestHangingProgramIsKilled(t *testing.T) {
	t.Parallel()
	var to log
	a := launch(t, "stubborn", &to)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	a.Stop(ctx)
	assert.Less(t, time.Since(begun), 10*time.Second)
}

func TestFailedStartIsExplained(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command []string
		want    string
		state   agent.HealthState
	}{
		"a missing program":    {[]string{"/nowhere/agent"}, "no such file", agent.HealthFailed},
		"a program that exits": {nil, "cannot find the moon", agent.HealthFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := own(t, "broken", &log{})
			if tc.command != nil {
				o.Command = tc.command
			}
			d := ndjson.New(o)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := d.Launch(ctx)
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, tc.state, d.Health().State)
			assert.Contains(t, d.Health().Message, tc.want)
		})
	}
	assert.Equal(t, agent.HealthMissing, ndjson.New(ndjson.Options{Command: []string{"/nowhere/agent"}}).Health().State)
}

// run sends a prompt to a session and returns the outcome of its run and the texts in it.
func run(t *testing.T, r *follow.SessionReader, text string) (event.Outcome, string) {
	t.Helper()
	run, err := r.Prompt(event.Prompt{Text: text})
	require.NoError(t, err)
	said := ""
	for b, err := range run.Events(t.Context()) {
		require.NoError(t, err)
		for _, e := range b.Entries {
			if b, ok := e.Value.Body.(event.MessageEnded); ok {
				said += b.Text
			}
		}
	}
	return run.Outcome, said
}

func TestSessionOutlivesProgram(t *testing.T) {
	t.Parallel()
	d := ndjson.New(own(t, "well", &log{}))
	h := copilot.NewHost(copilot.Options{
		Launch: d.Launch, Health: d.Health, Pool: agent.PoolOptions{StartTimeout: ndjson.StartTimeout},
	})
	defer h.Close(t.Context())
	s, err := h.Start(t.Context(), copilot.Start{Directory: t.TempDir()})
	require.NoError(t, err)
	r := follow.Session(h, s, 0)
	_, first := run(t, r, "who")
	outcome, _ := run(t, r, "die")
	assert.Equal(t, event.Failed, outcome)
	outcome, second := run(t, r, "who")
	assert.Equal(t, event.Completed, outcome)
	assert.NotEqual(t, first, second, "the process is another")
	assert.Equal(t, agent.HealthReady, h.Health().State)
}
