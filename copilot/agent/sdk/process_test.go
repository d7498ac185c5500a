package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// soon is the limit for operations that take milliseconds on an idle machine: IDEs kill a portal that takes longer to stop.
const soon = 5 * time.Second

// script returns a driver of a CLI that is a shell script.
func script(t *testing.T, lines string) *sdk.Driver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copilot")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o600))
	require.NoError(t, os.Chmod(path, 0o700))
	return sdk.New(sdk.Options{
		Locate: sdk.Locate{Configured: path},
		Env:    append(os.Environ(), "MARK="+path),
		Log:    slog.New(slog.DiscardHandler),
	})
}

// marked returns the living processes of a script.
func marked(t *testing.T, d *sdk.Driver) map[int]string {
	t.Helper()
	path, err := d.Options().Locate.Find()
	require.NoError(t, err)
	return children(t, "MARK="+path)
}

func TestSlowFirstStartIsExplained(t *testing.T) {
	d := script(t, `sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	var launching sync.WaitGroup
	launching.Go(func() { _, _ = d.Launch(ctx) })
	require.Eventually(t, func() bool { return d.Health().State == agent.HealthStarting }, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, d.Health().Message, "unpacks")
	cancel()
	launching.Wait()
	require.Equal(t, agent.HealthFailed, d.Health().State)
}

func TestFailedStartIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   []string
	}{
		"it exits at once with an error": {
			`echo "cannot find the moon" >&2; exit 3`,
			[]string{"it ended before it listened", "exit status 3", "cannot find the moon"},
		},
		"it exits at once with an error on its output": {
			`echo "error: unknown option --headless"; exit 1`,
			[]string{"it ended before it listened", "exit status 1", "error: unknown option --headless"},
		},
		"it exits at once silently":            {`exit 0`, []string{"it ended before it listened", "exit status 0"}},
		"it writes more than is kept":          {`i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; echo last; exit 1`, []string{"line 2999", "last"}},
		"it writes much without a line break":  {`head -c 300000 /dev/zero | tr '\0' x; echo; echo last; exit 1`, []string{"xxx", "last"}},
		"it is killed":                         {`kill -9 $$`, []string{"it ended before it listened", "killed"}},
		"it reports a port without a listener": {`echo "CLI server listening on port 1"; sleep 60`, []string{"the connection to it failed", "connection refused"}},
		"it reports no port":                   {`echo "listening on port of Spain"; exit 1`, []string{"port of Spain"}},
		"it starts a child that outlives it":   {`sleep 60 & echo oh; exit 1`, []string{"exit status 1", "oh"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := script(t, tc.script)
			begin := testclock.Now()
			ctx, cancel := context.WithTimeout(t.Context(), late)
			defer cancel()
			_, err := d.Launch(ctx)
			require.Error(t, err)
			assert.Less(t, begin.Elapsed(), soon)
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
			h := d.Health()
			assert.Equal(t, agent.HealthFailed, h.State)
			for _, want := range append(tc.want, "did not start") {
				assert.Contains(t, h.Message, want)
				assert.Contains(t, err.Error(), want)
			}
			assert.Less(t, len(h.Message), 5000)
			assert.Contains(t, h.Hint, "--version`")
			assert.Empty(t, marked(t, d), "its children are gone")
		})
	}
}

func TestSilentCLIIsStoppedInTime(t *testing.T) {
	d := script(t, `echo "looking for the moon" >&2; sleep 60; echo never`)
	const limit = 3 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := testclock.Now()
	_, err := d.Launch(ctx)
	took := begin.Elapsed()
	require.ErrorContains(t, err, "it did not listen in time")
	require.ErrorContains(t, err, "looking for the moon")
	assert.Less(t, took, limit+soon)
	assert.Empty(t, marked(t, d))
}

func TestUnresponsiveCLIIsStoppedInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	d := script(t, `echo "listening on port `+port+`"; sleep 60`)
	const limit = 3 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := testclock.Now()
	_, err = d.Launch(ctx)
	require.ErrorContains(t, err, "the connection to it failed")
	assert.Less(t, begin.Elapsed(), limit+soon)
	assert.Empty(t, marked(t, d))
}

func TestDeathDuringGreetingIsNoticedAtOnce(t *testing.T) {
	for _, at := range []string{"connect", "status.get"} {
		t.Run(at, func(t *testing.T) {
			d := scriptedCLI{Version: sdk.MinVersion, Dies: at}.driver(t, nil)
			begin := testclock.Now()
			ctx, cancel := context.WithTimeout(t.Context(), late)
			defer cancel()
			_, err := d.Launch(ctx)
			require.Error(t, err)
			assert.Less(t, begin.Elapsed(), soon)
		})
	}
}

func TestOldCLIIsRejected(t *testing.T) {
	for version, old := range map[string]bool{
		sdk.MinVersion: false, "v" + sdk.MinVersion: false, "1.0.103": false, "1.1.0": false, "2.0.0": false, "1.0.1000": false, "1.0.103-1": false,
		"1.0.101": true, "0.9.999": true, sdk.MinVersion + "-1": true, "1.0.99": true, "": true, "new": true,
	} {
		assert.Equal(t, old, sdk.TooOld(version), version)
	}
	d := scriptedCLI{Version: "1.0.99"}.driver(t, nil)
	_, err := d.Launch(t.Context())
	require.ErrorContains(t, err, "is version 1.0.99; the portal needs "+sdk.MinVersion+" or newer. Update it with `npm install -g @github/copilot@")
	assert.Equal(t, agent.HealthTooOld, d.Health().State)
	assert.Equal(t, "1.0.99", d.Health().Version)
}

func TestMissingCLIIsReported(t *testing.T) {
	t.Setenv("PATH", "")
	d := sdk.New(sdk.Options{Log: slog.New(slog.DiscardHandler)})
	h := d.Health()
	assert.Equal(t, agent.HealthMissing, h.State, "before the first start")
	assert.Contains(t, h.Hint, "`portal setup`")
	_, err := d.Launch(t.Context())
	require.ErrorContains(t, err, "The Copilot CLI was not found: it is not on PATH. Get it with `portal setup`")
	assert.Equal(t, fault.Unavailable, fault.KindOf(err))

	t.Setenv("PATH", filepath.Dir(program(t, 0o700, t.TempDir(), "copilot")))
	assert.Equal(t, agent.HealthUnknown, d.Health().State, "until it is found")
}

func TestRealCLIStartsAndStops(t *testing.T) {
	o := options(t)
	o.WithoutAccount = false
	d := sdk.New(o)
	assert.Equal(t, agent.HealthUnknown, d.Health().State)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 2 {
		begin := time.Now()
		a := launch(t, d)
		t.Logf("started in %v", time.Since(begin))
		_, err := a.Models(t.Context())
		require.NoError(t, err)
		assert.Equal(t, agent.HealthSignedOut, d.Health().State)
		require.Eventually(t, func() bool { return len(children(t, a.Mark())) == 1 }, late, 10*time.Millisecond, "its calls of gh end")
		begin = time.Now()
		stop(t, a)
		t.Logf("stopped in %v", time.Since(begin))
		assert.Empty(t, children(t, a.Mark()))
		stop(t, a) // calling it again is allowed
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+3 && descriptors(t) <= files+1 },
		time.Minute, 20*time.Millisecond, "from %d goroutines and %d files to %d and %d", goroutines, files, runtime.NumGoroutine(), descriptors(t))
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func TestSlowStopEndsWithKill(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	hang(t, a)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	begin := testclock.Now()
	a.Stop(ctx)
	assert.Less(t, begin.Elapsed(), soon)
	assert.Empty(t, children(t, a.Mark()))
}

// hang halts the process of an agent.
func hang(t *testing.T, a *sdk.Agent) {
	t.Helper()
	require.NoError(t, syscall.Kill(a.PID(), syscall.SIGSTOP))
	threads := fmt.Sprintf("/proc/%d/task/*/stat", a.PID())
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(threads)
		require.NoError(t, err)
		for _, f := range files {
			if stat, err := os.ReadFile(f); err == nil && !bytes.Contains(stat, []byte(") T ")) {
				return false
			}
		}
		return true
	}, late, time.Millisecond)
}

func TestCallsOfHangingAgentEndInTime(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	c := open(t, a, nil)
	hang(t, a)
	defer func() { _ = syscall.Kill(a.PID(), syscall.SIGCONT) }()
	for name, call := range map[string]func(context.Context) error{
		"Send": func(ctx context.Context) error {
			return c.Send(ctx, event.Prompt{Text: strings.Repeat("more than fits ", 1<<20)})
		},
		"Abort":    c.Abort,
		"SetModel": func(ctx context.Context) error { return c.SetModel(ctx, "demo") },
		"Answer": func(ctx context.Context) error {
			return c.Answer(ctx, event.Question{ID: "x", Kind: event.AskPermission}, event.Answer{})
		},
		"Close": c.Close,
	} {
		begin := testclock.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		cancel()
		assert.Less(t, begin.Elapsed(), soon, name)
	}
}

func TestCloseDoesNotWaitForPlanOfHangingAgent(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	c := open(t, a, nil)
	hang(t, a)
	defer func() { _ = syscall.Kill(a.PID(), syscall.SIGCONT) }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, c.Send(ctx, event.Prompt{Text: strings.Repeat("more than fits ", 1<<20)}))
	sdk.Tell(c.Conversation, vendorEvent(t, "session.todos_changed", `{}`))
	require.Eventually(t, func() bool { return sdk.Reads(c.Conversation) }, late, time.Millisecond)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.Close(ctx)
	}()
	assert.True(t, testclock.Now().Wait(closed, soon), "Close waits for the agent to read")
}

func TestKilledAgentEndsItsCommands(t *testing.T) {
	t.Parallel()
	a := launch(t, sdk.New(options(t)))
	c := open(t, a, nil)
	running := runForever(c)
	group, err := syscall.Getpgid(running)
	require.NoError(t, err)
	own, err := syscall.Getpgid(a.PID())
	require.NoError(t, err)
	require.NotEqual(t, own, group, "the command has its own group")
	require.NotEqual(t, syscall.Getpgrp(), own, "and so does the CLI")

	killed := testclock.Now()
	require.NoError(t, syscall.Kill(a.PID(), syscall.SIGKILL))
	<-a.Done()
	took := killed.Elapsed()
	t.Logf("kill → Done: %v", took)
	assert.Less(t, took, soon)
	assert.Empty(t, children(t, a.Mark()))
}

// runForever makes the agent run a command that does not end, and returns its process id.
func runForever(c *talk) int {
	c.t.Helper()
	seconds := strconv.Itoa(100000 + os.Getpid()) // a unique command line
	c.send("run `sleep " + seconds + "`")
	q, _ := until[event.QuestionAsked](c)
	c.answer(q.Question, event.Answer{Approved: true})
	pid := 0
	require.Eventually(c.t, func() bool {
		for p, command := range children(c.t, "COPILOT_AGENT_SESSION_ID="+c.opening.Session) {
			if command == "sleep "+seconds {
				pid = p
			}
		}
		return pid != 0
	}, time.Minute, 10*time.Millisecond)
	return pid
}

func TestStopEndsCommands(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	runForever(open(t, a, nil))
	begin := testclock.Now()
	stop(t, a)
	took := begin.Elapsed()
	t.Logf("stopped in %v", took)
	assert.Less(t, took, soon)
	assert.Empty(t, children(t, a.Mark()))
}

// ownerVariable makes the test binary a program that starts the CLI, makes it run a command, reports it, and waits to
// be killed.
const ownerVariable = "PORTAL_TEST_OWNER"

func own(cliPath string) {
	s, err := demo.Start()
	if err != nil {
		panic(err)
	}
	d := sdk.New(sdk.Options{
		Locate: sdk.Locate{Configured: cliPath}, Env: os.Environ(), Log: slog.New(slog.DiscardHandler),
		Demo: func() (sdk.Provider, error) {
			return sdk.Provider{Name: "d", Type: "openai", BaseURL: s.URL(), APIKey: s.Key(), Models: []string{demo.ModelID}}, nil
		},
	})
	launched, err := d.Launch(context.Background())
	if err != nil {
		panic(err)
	}
	a, _ := launched.(*sdk.Agent)
	c := &talk{t: &testing.T{}, more: make(chan struct{}), opening: agent.Opening{Session: uuid.NewString(), Model: demo.ModelID, Directory: os.TempDir()}}
	if c.Conversation, err = a.Open(context.Background(), c.opening, c.sink); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, a.PID(), runForever(c), a.Mark())
	select {}
}

func TestCLIDiesWithThePortal(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	owner := exec.Command(self)
	owner.Env = append(environ(t.TempDir()), ownerVariable+"="+cli(t))
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	fields := strings.Fields(line)
	require.Len(t, fields, 3)
	mark := fields[2]
	require.NotEmpty(t, children(t, mark))
	t.Cleanup(func() {
		for pid := range children(t, mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})

	require.NoError(t, owner.Process.Kill())
	killed := time.Now()
	_, _ = io.Copy(io.Discard, out)
	_ = owner.Wait()
	require.Eventually(t, func() bool { return len(children(t, mark)) == 0 }, late, 10*time.Millisecond)
	t.Logf("our death → CLI and its command gone: %v", time.Since(killed))
}
