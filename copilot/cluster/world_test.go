package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

// errLog is a failure of the log.
var errLog = errors.New("the log fails")

// world is a cluster with its clients and its log.
type world struct {
	rng    *rand.Rand
	server *memlog.Server
	nodes  []*machine
	check  *checker
	shared things
	steps  int
	calm   bool // nothing fails any more

	clients sync.WaitGroup
	mu      sync.Mutex
	pending []*operation
	working int // clients
	log     []string
	ids     int
}

// machine is a node with its data directory.
type machine struct {
	*world

	index     int
	directory string
	up        bool         // its process runs
	ready     atomic.Bool  // it has started
	cut       bool         // it cannot reach the log
	losses    atomic.Int32 // of its file
	log       *memlog.Log
	dead      *atomic.Bool // its process has ended
	node      *cluster.Node
	store     *store.Store
	serving   context.CancelFunc
	served    sync.WaitGroup
	leases    map[string]*store.Lease
	begun     map[string]bool // activities
}

// operation is what a node waits for.
type operation struct {
	memlog.Operation

	from  *machine
	gone  <-chan struct{}
	reply chan result
	not   time.Time // before this
}

type result struct {
	value any
	err   error
}

func newWorld(rng *rand.Rand, directory string) *world {
	w := &world{rng: rng, server: memlog.NewServer()}
	w.check = newChecker(w)
	w.server.OnStore = w.check.stored
	for i := range 3 {
		m := &machine{world: w, index: i, directory: filepath.Join(directory, fmt.Sprint(i))}
		w.nodes = append(w.nodes, m)
		m.start()
	}
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%d %s ", w.steps, time.Now().Format("04:05.000"))+fmt.Sprintf(format, args...))
}

func (w *world) trace(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log[max(0, len(w.log)-n):], "\n")
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprint(w.ids)
}

// step makes one thing happen.
func (w *world) step() {
	w.mu.Lock()
	w.steps++
	w.mu.Unlock()
	w.background()
	switch n := w.rng.IntN(100); {
	case n < 50:
		w.perform()
	case n < 90:
		w.client()
	case n < 91:
		m := pick(w.rng, w.nodes)
		m.cut = true
		w.note("node %d is cut off", m.index)
	case n < 93:
		for _, m := range w.nodes {
			m.cut = false
		}
	case n < 94:
		switch m := pick(w.rng, w.nodes); {
		case !m.ready.Load():
		case chance(w.rng, 10):
			m.loseFile()
		default:
			m.crash()
		}
	default:
		if m := pick(w.rng, w.nodes); !m.up {
			m.start()
		}
	}
	w.pause()
}

// pause lets time pass.
func (w *world) pause() {
	d := time.Duration(w.rng.IntN(30)) * time.Millisecond
	if chance(w.rng, 2) {
		d = time.Duration(w.rng.IntN(4000)) * time.Millisecond
	}
	time.Sleep(d)
	synctest.Wait()
	w.check.failed()
}

// gate lets an operation wait until the world performs it.
func (m *machine) gate(ctx context.Context, o memlog.Operation) (any, error) {
	w := m.world
	p := &operation{Operation: o, from: m, gone: ctx.Done(), reply: make(chan result, 1)}
	w.mu.Lock()
	w.pending = append(w.pending, p)
	w.mu.Unlock()
	select {
	case r := <-p.reply:
		return r.value, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take removes and returns an operation that may be performed, chosen by a function.
func (w *world) take(may func(*operation) bool) *operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []int
	for i, p := range w.pending {
		if !p.from.cut && !time.Now().Before(p.not) && may(p) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(i, j int) int { return w.pending[i].compare(w.pending[j]) }) // for replays
	i := pick(w.rng, list)
	p := w.pending[i]
	w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
	return p
}

func (p *operation) compare(q *operation) int {
	return cmp.Or(p.from.index-q.from.index, strings.Compare(p.Name, q.Name), strings.Compare(p.Subject, q.Subject))
}

// background performs announcements.
func (w *world) background() {
	for {
		p := w.take(func(p *operation) bool { return p.Name == "Announce" || p.Name == "Watch" || p.Name == "Last" })
		if p == nil {
			return
		}
		if !w.calm && chance(w.rng, 2) {
			p.not = time.Now().Add(time.Duration(w.rng.IntN(10)) * time.Second)
			w.mu.Lock()
			w.pending = append(w.pending, p)
			w.mu.Unlock()
			continue
		}
		p.run()
		synctest.Wait()
	}
}

func (p *operation) run() {
	v, err := p.Run()
	p.reply <- result{v, err}
}

// perform performs an operation, or lets it fail.
func (w *world) perform() {
	p := w.take(func(*operation) bool { return true })
	if p == nil {
		return
	}
	what := fmt.Sprintf("node %d: %s %s", p.from.index, p.Name, p.Subject)
	n := w.rng.IntN(100)
	if w.calm {
		n = 100
	}
	select {
	case <-p.gone:
		what += " (late)"
	default:
	}
	switch {
	case n < 4:
		w.note("%s is refused", what)
		p.reply <- result{nil, errLog}
	case n < 10:
		_, err := p.Run()
		w.note("%s has an effect (%v), but fails", what, err)
		p.reply <- result{nil, errLog}
	case n < 14:
		w.note("%s has to wait", what)
		p.not = time.Now().Add(time.Duration(w.rng.IntN(12)) * time.Second)
		w.mu.Lock()
		w.pending = append(w.pending, p)
		w.mu.Unlock()
	case n < 18:
		_, err := p.Run()
		w.note("%s happens twice (%v)", what, err)
		p.run()
	case n < 20:
		_, err := p.Run()
		w.note("%s has an effect (%v), but no answer", what, err)
	default:
		v, err := p.Run()
		w.note("%s: %v", what, err)
		p.reply <- result{v, err}
	}
}

// start starts the process of a node.
func (m *machine) start() {
	m.up = true
	m.leases, m.begun = map[string]*store.Lease{}, map[string]bool{}
	dead := &atomic.Bool{}
	m.dead = dead
	gate := func(ctx context.Context, o memlog.Operation) (any, error) {
		if dead.Load() {
			return nil, errLog
		}
		return m.gate(ctx, o)
	}
	m.log = &memlog.Log{Server: m.server, Gate: gate, Batch: func() (limit, again int) {
		if m.calm {
			return 256, 0
		}
		return 1 + m.rng.IntN(20), max(0, m.rng.IntN(6)-3)
	}}
	logger := slog.New(slog.NewTextHandler(&lines{m}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	m.node = cluster.New(m.log, cluster.Options{Name: "test", Node: fmt.Sprint("n", m.index), Lease: time.Second, Log: logger})
	s, err := store.Open(context.Background(), store.Options{Directory: m.directory, Delay: time.Millisecond, Cluster: m.node, Log: logger})
	must(err)
	must(m.node.Join(context.Background(), s))
	m.store = s
	m.note("node %d starts as %s", m.index, s.Name())
	var ctx context.Context
	ctx, m.serving = context.WithCancel(context.Background())
	m.goClient(func() {
		m.node.Start(context.Background(), func([]string) {}, func() cluster.State { return cluster.State{} })
		m.served.Go(func() { m.node.Serve(ctx, m.answer) })
		m.ready.Store(!dead.Load())
	})
}

// lines writes log lines to the trace.
type lines struct{ m *machine }

func (l *lines) Write(b []byte) (int, error) {
	l.m.note("node %d says %s", l.m.index, strings.TrimSpace(string(b)))
	return len(b), nil
}

// crash ends the process of a node as a kill does. Sometimes its data directory is lost, too.
func (m *machine) crash() {
	m.note("node %d crashes", m.index)
	m.up = false
	m.ready.Store(false)
	must(m.kill())
	if !m.calm && chance(m.rng, 10) {
		m.note("node %d loses its data", m.index)
		m.check.forget(m.index)
		must(os.RemoveAll(m.directory))
	}
}

// loseFile removes the file of a node while it runs.
func (m *machine) loseFile() {
	m.note("node %d loses its file", m.index)
	m.losses.Add(1)
	m.check.forget(m.index)
	must(os.RemoveAll(m.directory))
	m.do("flush", m.store.Flush) // it notices that: a removal would find nothing in the new file
}

func (m *machine) kill() error {
	m.dead.Store(true)
	err := m.store.Kill()
	m.serving()
	m.node.Close()
	m.served.Wait()
	return err
}

// goClient runs a client.
func (w *world) goClient(do func()) {
	w.mu.Lock()
	w.working++
	w.mu.Unlock()
	w.clients.Go(func() {
		do()
		w.mu.Lock()
		w.working--
		w.mu.Unlock()
	})
}

// settle lets everything work again and checks that all nodes have the same.
func (w *world) settle() {
	w.calm = true
	for _, m := range w.nodes {
		m.cut = false
		if !m.up {
			m.start()
		}
	}
	for quiet, rounds := 0, 0; quiet < 20; rounds++ {
		if rounds == 20_000 {
			panic("the cluster does not come to rest: " + w.busy())
		}
		w.mu.Lock()
		w.steps++
		w.mu.Unlock()
		w.background()
		w.perform()
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		w.check.failed()
		quiet++
		if w.busy() != "" {
			quiet = 0
		}
		if quiet == 10 {
			for _, m := range w.nodes {
				must(m.store.Flush(context.Background()))
			}
		}
	}
	w.check.converged()
	w.abandon()
}

// busy says what is not done yet.
func (w *world) busy() string {
	w.mu.Lock()
	working := w.working
	w.mu.Unlock()
	if working > 0 {
		return fmt.Sprintf("%d clients wait", working)
	}
	for _, m := range w.nodes {
		if s := m.node.Status(); s.Waiting > 0 {
			return fmt.Sprintf("%d changes of node %d wait: %s", s.Waiting, m.index, m.node.Progress())
		}
		if !m.node.HasApplied(w.server.Last()) {
			return fmt.Sprintf("node %d lags", m.index)
		}
	}
	return ""
}

// abandon ends everything.
func (w *world) abandon() {
	for _, m := range w.nodes {
		if m.up {
			_ = m.kill()
		}
	}
	w.mu.Lock()
	for _, p := range w.pending {
		select {
		case p.reply <- result{nil, errLog}:
		default:
		}
	}
	w.mu.Unlock()
	w.clients.Wait()
}
