package sdk_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/testclock"
)

func TestPing(t *testing.T) {
	ping := func(t *testing.T, a *sdk.Agent, limit time.Duration) (time.Duration, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		begin := testclock.Now()
		err := a.Ping(ctx)
		return begin.Elapsed(), err
	}
	t.Run("the real CLI answers, even while it works, and its memory is known", func(t *testing.T) {
		a := launch(t, sdk.New(options(t)))
		c := open(t, a, nil)
		c.send("1,000 tokens")
		for range 10 {
			took, err := ping(t, a, late)
			require.NoError(t, err)
			assert.Less(t, took, soon)
		}
		until[event.Idle](c)

		n := a.Memory()
		t.Logf("it holds %d MB", n>>20)
		assert.Greater(t, n, int64(50<<20))
		assert.Less(t, n, int64(1<<30))
		stop(t, a)
		assert.Zero(t, a.Memory())
	})
	t.Run("a halted CLI does not answer and is idle", func(t *testing.T) {
		a := launch(t, sdk.New(options(t)))
		hang(t, a)
		defer func() { _ = syscall.Kill(a.PID(), syscall.SIGCONT) }()
		took, err := ping(t, a, 500*time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotEqual(t, fault.Busy, fault.KindOf(err))
		assert.Less(t, took, soon)
	})
	t.Run("a computing CLI is distinguished from it", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Computes: "ping"}.driver(t, nil))
		require.Eventually(t, func() bool { // on a busy machine, it is some time before it computes
			_, err := ping(t, a, 500*time.Millisecond)
			return fault.KindOf(err) == fault.Busy
		}, late, 10*time.Millisecond)
	})
	t.Run("so is a CLI that waits for a child that it has just started", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Waits: "ping"}.driver(t, nil))
		for range 2 { // on a busy machine, it is some time before it has started the child
			require.Eventually(t, func() bool {
				_, err := ping(t, a, 500*time.Millisecond)
				return fault.KindOf(err) == fault.Busy
			}, late, 10*time.Millisecond)
		}
		hang(t, a)
		defer func() { _ = syscall.Kill(a.PID(), syscall.SIGCONT) }()
		_, err := ping(t, a, 500*time.Millisecond)
		assert.NotEqual(t, fault.Busy, fault.KindOf(err), "the CLI is halted as well")
	})
	t.Run("an idle CLI that does not answer is idle", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Silent: "ping"}.driver(t, nil))
		require.Eventually(t, func() bool { // on a busy machine, it is some time before it has read the call and is idle
			_, err := ping(t, a, 500*time.Millisecond)
			return err != nil && fault.KindOf(err) != fault.Busy
		}, late, 10*time.Millisecond)
	})
	t.Run("a CLI that does not know the call is alive", func(t *testing.T) {
		_, err := ping(t, launch(t, scriptedCLI{Version: sdk.MinVersion}.driver(t, nil)), late)
		assert.NoError(t, err)
	})
	t.Run("a CLI that has ended fails at once", func(t *testing.T) {
		a := launch(t, scriptedCLI{Version: sdk.MinVersion, Dies: "ping"}.driver(t, nil))
		took, err := ping(t, a, time.Minute)
		require.Error(t, err)
		assert.Less(t, took, soon)
	})
}

func TestRealCLIReportsWork(t *testing.T) {
	c := open(t, launch(t, sdk.New(options(t))), nil)
	check := func(when string, working, background bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := c.Working(ctx)
		require.NoError(t, err)
		assert.Equal(t, working, got, "works: %s", when)
		got, err = c.Background(ctx)
		require.NoError(t, err)
		assert.Equal(t, background, got, "has commands in the background: %s", when)
	}
	check("new", false, false)
	c.send("wait 60 s")
	until[event.TurnStarted](c)
	check("the model thinks", true, false)
	c.abort()
	check("aborted", false, false)

	c.send("ask `Which?`")
	q, _ := until[event.QuestionAsked](c)
	check("a question to the user is pending", true, false)
	c.answer(q.Question, event.Answer{Text: "this"})
	until[event.Idle](c)
	check("idle", false, false)

	c.send("call `task` ``{\"agent_type\":\"general-purpose\",\"name\":\"helper\",\"description\":\"x\",\"prompt\":\"wait 60 s\",\"mode\":\"background\"}``")
	until[event.ToolEnded](c)
	until[event.TurnEnded](c)
	require.Never(t, func() bool {
		working, err := c.Working(t.Context())
		return err != nil || !working
	}, 500*time.Millisecond, 10*time.Millisecond, "a silent sub-agent works in the background")
	c.abort()
	check("aborted", false, false)

	finish := filepath.Join(t.TempDir(), "finish")
	c.send("run `" + untilExists(finish) + "`")
	q, _ = until[event.QuestionAsked](c)
	check("a permission is pending", true, false)
	c.answer(q.Question, event.Answer{Approved: true})
	require.Eventually(t, func() bool {
		running, err := c.Background(t.Context())
		return err == nil && running
	}, late, 10*time.Millisecond)
	check("a command runs", true, true)
	require.NoError(t, os.WriteFile(finish, nil, 0o600))
	until[event.Idle](c)
	check("the command has ended", false, false)

	c.send("call `bash` `{\"command\":\"sleep 60\",\"description\":\"x\",\"mode\":\"async\"}`")
	q, _ = until[event.QuestionAsked](c)
	c.answer(q.Question, event.Answer{Approved: true})
	until[event.Idle](c)
	check("a command runs in the background", false, true)
}

// host returns a host with the real CLI.
func host(t *testing.T, o copilot.Options, change func(*sdk.Options)) *copilot.Host {
	t.Helper()
	so := options(t)
	if change != nil {
		change(&so)
	}
	d := sdk.New(so)
	o.Launch, o.Health = d.Launch, d.Health
	o.Pool.StartTimeout = late
	h := copilot.NewHost(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		h.Close(ctx)
	})
	return h
}

func begin(t *testing.T, h *copilot.Host) *copilot.Session {
	t.Helper()
	s, err := h.Start(t.Context(), copilot.Start{Model: demo.ModelID, Directory: t.TempDir(), Policy: permission.Everywhere(permission.Allow)})
	require.NoError(t, err)
	return s
}

// follow reads the record from a number to the next body of a type, and returns it with its number and the agent's text
// on the way.
func follow[B event.Body](t *testing.T, s *copilot.Session, after uint64) (found B, at uint64, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		some, err := s.Record().Next(ctx, after, 1)
		require.NoError(t, err, "missing %T", found)
		after = some[0].N
		switch b := some[0].Value.Body.(type) {
		case B:
			return b, after, said
		case event.MessageEnded:
			said += b.Text
		}
	}
}

func TestHaltedCLIIsReplaced(t *testing.T) {
	t.Parallel()
	var pids pids
	h := host(t, copilot.Options{Pool: agent.PoolOptions{
		PingEvery: 100 * time.Millisecond, SilenceLimit: 3 * time.Second, Log: slog.New(slog.DiscardHandler),
	}}, pids.watch)
	s := begin(t, h)
	_, err := s.Prompt(event.Prompt{Text: "say `the first`"})
	require.NoError(t, err)
	_, at, _ := follow[event.RunEnded](t, s, 0)
	_, err = s.Prompt(event.Prompt{Text: "wait 60 s"})
	require.NoError(t, err)
	_, at, _ = follow[event.TurnStarted](t, s, at)

	halted := time.Now()
	require.NoError(t, syscall.Kill(pids.list()[0], syscall.SIGSTOP))
	end, at, _ := follow[event.RunEnded](t, s, at)
	t.Logf("halt → end of the run, with a limit of 3 s: %v", time.Since(halted))
	assert.Equal(t, event.Failed, end.Outcome)
	assert.Contains(t, end.Text, "ended unexpectedly")

	asked := time.Now()
	_, err = s.Prompt(event.Prompt{Text: "recall"})
	require.NoError(t, err)
	end, _, said := follow[event.RunEnded](t, s, at)
	t.Logf("next prompt → its end on a new process: %v; since the halt: %v", time.Since(asked), time.Since(halted))
	assert.Equal(t, event.Completed, end.Outcome)
	assert.Contains(t, said, "the first")
	require.Len(t, pids.list(), 2)
	assert.Error(t, syscall.Kill(pids.list()[0], 0), "the old process is gone")
}

// pids collects the process ids of the CLIs that a driver has started, from its log.
type pids struct {
	mu  sync.Mutex
	all []int
}

func (p *pids) watch(o *sdk.Options) { o.Log = slog.New(p) }

func (p *pids) list() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// Enabled returns true; with the other methods it makes p a [slog.Handler].
func (p *pids) Enabled(context.Context, slog.Level) bool { return true }

func (p *pids) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "the Copilot CLI started" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "pid" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.all = append(p.all, int(a.Value.Int64()))
		}
		return true
	})
	return nil
}

func (p *pids) WithAttrs([]slog.Attr) slog.Handler { return p }
func (p *pids) WithGroup(string) slog.Handler      { return p }

func TestBusyCLIIsNotReplaced(t *testing.T) {
	var pids pids
	h := host(t, copilot.Options{Pool: agent.PoolOptions{PingEvery: 10 * time.Millisecond, SilenceLimit: 3 * time.Second}}, pids.watch)
	var all []*copilot.Session
	for range 3 {
		all = append(all, begin(t, h))
	}
	for _, s := range all {
		_, err := s.Prompt(event.Prompt{Text: "1,000 tokens"})
		require.NoError(t, err)
	}
	for _, s := range all {
		end, _, _ := follow[event.RunEnded](t, s, 0)
		assert.Equal(t, event.Completed, end.Outcome)
	}
	assert.Len(t, pids.list(), 1)
}

func TestLargeCLIIsReplacedWhenIdle(t *testing.T) {
	t.Parallel()
	var pids pids
	h := host(t, copilot.Options{Pool: agent.PoolOptions{PingEvery: 100 * time.Millisecond, MemoryLimit: 1 << 20, MinAge: -1}}, pids.watch)
	s := begin(t, h)
	_, err := s.Prompt(event.Prompt{Text: "say `the first` run `sleep 1`"})
	require.NoError(t, err)
	end, at, _ := follow[event.RunEnded](t, s, 0)
	require.Equal(t, event.Completed, end.Outcome, "the run was not interrupted")
	ended := time.Now()
	all := pids.list()
	old := all[len(all)-1] // the session may have moved before the run
	require.Eventually(t, func() bool { return syscall.Kill(old, 0) != nil }, late, 10*time.Millisecond)
	t.Logf("end of the run → process gone: %v", time.Since(ended))
	_, err = s.Prompt(event.Prompt{Text: "recall"})
	require.NoError(t, err)
	end, _, said := follow[event.RunEnded](t, s, at)
	assert.Equal(t, event.Completed, end.Outcome)
	assert.Contains(t, said, "the first")
	assert.Greater(t, len(pids.list()), len(all))
}
