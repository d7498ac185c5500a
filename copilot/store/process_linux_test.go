package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/server/portaltest"
)

// TestMain lets the test binary also act as other processes on a data directory.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_PROCESS") {
	case "":
		os.Exit(m.Run())
	case "append":
		appendFor(os.Args[1], os.Args[2], func(l *store.Lease, n uint64) {
			if n%1000 == 0 {
				_ = l.Merge()
			}
		})
	case "drop":
		appendFor(os.Args[1], os.Args[2], dropOdd)
	case "open":
		tryOpen(os.Args[1])
	case "open on a full disk":
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}) // no file can grow
		tryOpen(os.Args[1])
	}
}

// tryOpen prints why a directory cannot be written, and whether it can be read.
func tryOpen(directory string) {
	s, err := store.Open(context.Background(), store.Options{Directory: directory})
	trouble := new(store.Failure)
	if err == nil {
		if _, err := s.Session(context.Background(), "a"); err == nil {
			fmt.Print("readable ")
		}
		trouble = s.Failure()
		_ = s.Close()
	} else if !errors.As(err, &trouble) {
		trouble.Text = err.Error()
	}
	fmt.Print(trouble.Kind, " ", trouble.Text)
}

// appendFor acquires a session and appends to it at the speed of a model until it is killed. Each line it prints says
// which entry was queued when, and which are durable.
func appendFor(directory, id string, tidy func(*store.Lease, uint64)) {
	s, err := store.Open(context.Background(), store.Options{Directory: directory})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	l, err := s.Acquire(context.Background(), id)
	if errors.Is(err, store.ErrNotFound) {
		l, err = s.Create(context.Background(), store.Session{ID: id})
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("epoch", l.Epoch(), l.Stored())
	for n := l.Stored() + 1; ; n++ {
		if err := l.Append(entry(n)); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(n, l.Stored(), time.Now().UnixMicro())
		if n%16 == 0 {
			time.Sleep(time.Millisecond)
		}
		tidy(l, n)
	}
}

// dropOdd drops every second entry, repeatedly.
func dropOdd(l *store.Lease, n uint64) {
	if n%400 != 0 {
		return
	}
	var spans []store.Span
	for m := uint64(1); m <= n; m += 2 {
		spans = append(spans, store.Span{First: m, Last: m})
	}
	_ = l.Merge()
	_ = l.Drop(spans...)
}

// other is another process that appends.
type other struct {
	command *exec.Cmd
	ended   chan struct{}

	mu      sync.Mutex
	failed  string
	epoch   int
	begin   uint64
	durable uint64 // as reported by it
	times   map[uint64]int64
}

func start(t *testing.T, directory, id string) *other {
	t.Helper()
	return startAs(t, "append", directory, id)
}

func startAs(t *testing.T, role, directory, id string) *other {
	t.Helper()
	o := &other{command: exec.Command(os.Args[0], directory, id), ended: make(chan struct{}), times: map[uint64]int64{}}
	o.command.Env = append(os.Environ(), "STORE_TEST_PROCESS="+role)
	o.command.Stderr = os.Stderr
	out, err := o.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, o.command.Start())
	t.Cleanup(func() { o.kill() })
	go func() {
		defer close(o.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			o.line(lines.Text())
		}
	}()
	return o
}

func (o *other) line(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fields := strings.Fields(line)
	switch {
	case len(fields) > 0 && fields[0] == "error":
		o.failed = line
	case len(fields) == 3 && fields[0] == "epoch":
		o.epoch, _ = strconv.Atoi(fields[1])
		o.begin, _ = strconv.ParseUint(fields[2], 10, 64)
	case len(fields) == 3:
		n, _ := strconv.ParseUint(fields[0], 10, 64)
		o.durable, _ = strconv.ParseUint(fields[1], 10, 64)
		o.times[n], _ = strconv.ParseInt(fields[2], 10, 64)
	}
}

// wait returns when the process has made a number of entries durable since it started.
func (o *other) wait(t *testing.T, entries uint64) {
	t.Helper()
	require.Eventually(t, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.failed != "" || o.epoch > 0 && o.durable >= o.begin+entries
	}, 60*time.Second, time.Millisecond)
	require.Empty(t, o.failed)
}

// kill kills the process and returns when.
func (o *other) kill() time.Time {
	at := time.Now()
	_ = o.command.Process.Kill()
	<-o.ended
	_ = o.command.Wait()
	return at
}

// late returns how long before the kill the first missing entry was queued.
func (o *other) late(last uint64, end time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.times[last+1]
	if !ok {
		return 0
	}
	return end.Sub(time.UnixMicro(at))
}

func TestKillLosesOnlyTheLastMoment(t *testing.T) {
	directory := t.TempDir()
	latest := time.Duration(0)
	for round := range portaltest.Repeat(4, 8) {
		o := start(t, directory, "a")
		o.wait(t, 1+rand.Uint64N(500))
		<-time.After(rand.N(40 * time.Millisecond)) // at any moment between two groups
		end := o.kill()
		require.Equal(t, round+1, o.epoch, "each acquisition has its own epoch")

		s, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		entries := all(t, s, "a")
		last := uint64(len(entries))
		same(t, entries, 1, last) // complete, in order, once
		require.GreaterOrEqual(t, last, o.durable, "entries reported durable exist")
		head, err := s.Session(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, last, head.Last)
		latest = max(latest, o.late(last, end))
		require.NoError(t, s.Close())
	}
	t.Logf("the oldest missing entry was queued %v before the kill", latest)
	require.Less(t, latest, time.Minute) // the delay and the time of a write, for which a busy disk takes seconds
	require.Equal(t, 0, count(t, directory, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"))
}

func TestKillDuringDropKeepsOtherEntries(t *testing.T) {
	directory := t.TempDir()
	dropped := 0
	const enough, most = 500, 30
	for round := 0; round < portaltest.Repeat(3, 6) || dropped <= enough && round < most; round++ { // it may be killed before it drops
		o := startAs(t, "drop", directory, "a")
		o.wait(t, 1000+rand.Uint64N(1000))
		<-time.After(rand.N(40 * time.Millisecond))
		o.kill()

		s := open(t, directory)
		numbers := map[uint64]bool{}
		for _, e := range all(t, s, "a") {
			require.Equal(t, entry(e.Number), e)
			numbers[e.Number] = true
		}
		head, err := s.Session(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, numbers[head.Last])
		require.GreaterOrEqual(t, head.Last, o.durable)
		for n := uint64(2); n <= head.Last; n += 2 {
			require.True(t, numbers[n], "%d was not dropped", n)
		}
		dropped = max(dropped, int(head.Last)-len(numbers))
		require.NoError(t, s.Close())
	}
	require.Greater(t, dropped, enough)
	require.Equal(t, 0, count(t, directory, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"))
}

func TestThreeProcessesOnOneDirectory(t *testing.T) {
	directory := t.TempDir()
	a, b, c := start(t, directory, "a"), start(t, directory, "b"), start(t, directory, "c")
	for _, o := range []*other{a, b, c} {
		o.wait(t, 300)
	}
	s := open(t, directory)
	var held *store.InUseError
	_, err := s.Acquire(t.Context(), "a")
	require.ErrorAs(t, err, &held)
	require.Equal(t, a.command.Process.Pid, held.PID)

	a.kill()
	l, err := s.Acquire(t.Context(), "a")
	require.NoError(t, err, "a killed process leaves nothing that blocks")
	require.EqualValues(t, 2, l.Epoch())
	last := l.Stored()
	require.GreaterOrEqual(t, last, a.durable)
	fill(t, s, l, last+1, last+100)
	rival := start(t, directory, "a")
	<-rival.ended
	require.Contains(t, rival.failed, fmt.Sprintf("session a is in use by process %d", os.Getpid()))

	for _, o := range []*other{b, c} {
		o.mu.Lock()
		o.begin = o.durable
		o.mu.Unlock()
		o.wait(t, 100) // the others continue
		o.kill()
	}
	same(t, all(t, s, "a"), 1, last+100)
	for id, o := range map[string]*other{"b": b, "c": c} {
		entries := all(t, s, id)
		same(t, entries, 1, uint64(len(entries)))
		require.GreaterOrEqual(t, uint64(len(entries)), o.durable)
	}
	require.Equal(t, 0, count(t, directory, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"))
}

func TestFileOnAFullDiskIsRead(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	fill(t, s, create(t, s, "a"), 1, 1)
	require.NoError(t, s.Close())
	command := exec.Command("/proc/self/exe", directory)
	command.Env = []string{"STORE_TEST_PROCESS=open on a full disk", "GORACE=atexit_sleep_ms=0"}
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "readable full there is no space left to write "+file(directory)) // for the index of the log
}

func TestUnwritableDirectoryIsReported(t *testing.T) {
	const nobody = 65534
	for name, c := range map[string]struct {
		directory, files os.FileMode
		own              bool // this user owns the files
		below            string
		readable         bool // readable for users other than root, also where files cannot be given away
	}{
		"nor its files":                {0o555, 0o400, false, "", false},
		"though its files can":         {0o555, 0o600, true, "", true},
		"files that others can read":   {0o777, 0o444, false, "", true},
		"files that no user can write": {0o777, 0o400, true, "", true},
		"files of others":              {0o777, 0o600, false, "", false},
		"one that cannot be created":   {0o555, 0o400, false, "/deep/data", false},
		"one that cannot be entered":   {0o600, 0o600, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory)
			fill(t, s, create(t, s, "a"), 1, 1)
			require.NoError(t, s.Close())
			command := exec.Command("/proc/self/exe", directory+c.below)
			command.Env = []string{"STORE_TEST_PROCESS=open", "GORACE=atexit_sleep_ms=0"}
			mine := os.Getuid() != 0 // users other than root cannot give files away, so the files stay this user's
			for _, name := range []string{file(directory), file(directory) + ".lock"} {
				if mine && !c.own {
					c.files &= 0o444
				}
				require.NoError(t, os.Chmod(name, c.files))
				if !mine && c.own {
					require.NoError(t, os.Chown(name, nobody, nobody))
				}
			}
			require.NoError(t, os.Chmod(directory, c.directory))
			t.Cleanup(func() { _ = os.Chmod(directory, 0o700) })
			if !mine { // root can write everything
				command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				require.NoError(t, os.Chmod(directory+"/..", 0o755))
			}
			out, err := command.CombinedOutput()
			require.NoError(t, err)
			require.Contains(t, string(out), "read-only "+file(directory+c.below)+" cannot be written")
			require.Contains(t, string(out), "--data-dir DIR")
			require.Contains(t, string(out), "--ephemeral")
			if !mine || c.own {
				require.Equal(t, c.readable, strings.HasPrefix(string(out), "readable "), "%s", out)
			}
		})
	}
}
