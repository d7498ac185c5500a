package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// things are the ids of what clients have made.
type things struct{ sessions, activities, shares, visitors []string }

// client lets a client do something on a node that has started.
func (w *world) client() {
	m := pick(w.rng, w.nodes)
	if !m.ready.Load() {
		return
	}
	some := []func(context.Context){
		m.create, m.acquire, m.acquire, m.acquire, m.acquire, m.record, m.record, m.record, m.record, m.flush, m.flush, m.release, m.remove, m.describe, m.move,
		m.begin, m.write, m.write, m.adopt, m.tidy, m.share, m.useShare, m.revoke, m.admit, m.dismiss, m.call, m.read,
	}
	some[w.rng.IntN(len(some))](context.Background())
}

// do runs a client on its own goroutine. Its process may end meanwhile.
func (m *machine) do(what string, run func(context.Context) error) {
	m.note("node %d: client: %s", m.index, what)
	m.goClient(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		err := run(ctx)
		m.note("node %d: client: %s: %v", m.index, what, err)
		if ctx.Err() != nil && !strings.HasPrefix(what, "call") { // whose answer may be lost
			m.check.fail("%s on node %d waits for ever", what, m.index)
		}
	})
}

func (m *machine) create(context.Context) {
	if len(m.shared.sessions) > 3 && chance(m.rng, 80) {
		return
	}
	id := "s" + m.newID()
	m.shared.sessions = append(m.shared.sessions, id)
	leases := m.leases
	m.do("create "+id, func(ctx context.Context) error {
		l, err := m.store.Create(ctx, store.Session{ID: id, Title: "title of " + id, Meta: []byte("meta")})
		m.keep(leases, l, err)
		return err
	})
}

func (m *machine) keep(leases map[string]*store.Lease, l *store.Lease, err error) {
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		leases[l.Session()] = l
	}
}

func (m *machine) acquire(context.Context) {
	id, s, leases := pick(m.rng, m.shared.sessions), m.store, m.leases
	m.do("acquire "+id, func(ctx context.Context) error {
		l, err := s.Acquire(ctx, id)
		m.keep(leases, l, err)
		return err
	})
}

// lease returns a lease of this process; nil: there is none.
func (m *machine) lease() *store.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.shuffled(m.shared.sessions) {
		if l := m.leases[id]; l != nil {
			return l
		}
	}
	return nil
}

func (m *machine) shuffled(list []string) []string {
	list = append([]string{}, list...)
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// record appends entries and texts.
func (m *machine) record(context.Context) {
	l := m.lease()
	if l == nil {
		return
	}
	n := m.check.handed(l)
	for range 1 + m.rng.IntN(4) {
		n++
		data := fmt.Sprintf("%s %d %d %s", l.Session(), l.Epoch(), n, m.newID())
		first := chance(m.rng, 50)
		if first {
			_ = l.Index(store.Text{Number: n, Kind: "prompt", Body: data})
		}
		if l.Append(store.Entry{Number: n, Data: []byte(data)}) == nil {
			m.check.accepted(m.index, l, n, data)
		}
		if !first {
			_ = l.Index(store.Text{Number: n, Kind: "prompt", Body: data})
		}
	}
	m.note("node %d: client: record %s up to %d in epoch %d", m.index, l.Session(), n, l.Epoch())
}

func (m *machine) flush(context.Context) {
	s, index := m.store, m.index
	m.do("flush", func(ctx context.Context) error {
		err := s.Flush(ctx)
		m.check.acknowledge(index)
		return err
	})
}

func (m *machine) release(context.Context) {
	if l := m.lease(); l != nil {
		m.mu.Lock()
		delete(m.leases, l.Session())
		m.mu.Unlock()
		m.do("release "+l.Session(), l.Release)
	}
}

func (m *machine) remove(context.Context) {
	if chance(m.rng, 80) {
		return
	}
	id, s := pick(m.rng, m.shared.sessions), m.store
	m.do("delete "+id, func(ctx context.Context) error { return s.Delete(ctx, id) })
}

func (m *machine) describe(context.Context) {
	if l := m.lease(); l != nil {
		_ = l.Update(store.Session{Title: "title " + m.newID(), Meta: []byte(m.newID()), Pinned: chance(m.rng, 50), Closed: chance(m.rng, 20)})
	}
}

// move sets a reader's position.
func (m *machine) move(context.Context) {
	id, name, number := pick(m.rng, m.shared.sessions), pick(m.rng, []string{"page", "console"}), uint64(m.rng.IntN(20))
	if l := m.lease(); l != nil && chance(m.rng, 50) {
		_ = l.Position(name, number)
	} else if id != "" {
		_ = m.store.SetPosition(id, name, number)
	}
}

func (m *machine) begin(context.Context) {
	if len(m.shared.activities) > 3 && chance(m.rng, 80) {
		return
	}
	id, s := "a"+m.newID(), m.store
	m.shared.activities = append(m.shared.activities, id)
	m.do("begin "+id, func(ctx context.Context) error {
		return s.Begin(ctx, store.Activity{Kind: "job", ID: id, Head: []byte("begun")}, []byte("first"))
	})
}

func (m *machine) write(context.Context) {
	id, s, done, line := pick(m.rng, m.shared.activities), m.store, chance(m.rng, 20), m.newID()
	m.do("write "+line+" to "+id, func(ctx context.Context) error {
		_, err := s.AppendActivity(ctx, store.Activity{Kind: "job", ID: id, Done: done, Head: []byte(line)}, []byte(line), []byte("more"))
		return err
	})
}

func (m *machine) adopt(context.Context) {
	s := m.store
	m.do("adopt", func(ctx context.Context) error { _, err := s.Adopt(ctx, "job"); return err })
}

func (m *machine) tidy(context.Context) {
	s := m.store
	m.do("delete finished", func(ctx context.Context) error {
		_, err := s.DeleteDone(ctx, "job", time.Now().Add(-10*time.Second))
		return err
	})
}

func (m *machine) share(context.Context) {
	id, session, s := "x"+m.newID(), pick(m.rng, m.shared.sessions), m.store
	m.shared.shares = append(m.shared.shares, id)
	m.do("share "+id, func(ctx context.Context) error {
		_, err := s.AddShare(ctx, store.Share{ID: id, Session: session, Hash: []byte(id), Created: time.Now(), Expires: time.Now().AddDate(1, 0, 0)}, 100)
		return err
	})
}

func (m *machine) useShare(context.Context) {
	id, s := pick(m.rng, m.shared.shares), m.store
	m.do("use share "+id, func(ctx context.Context) error { return s.UseShare(ctx, id, time.Now()) })
}

func (m *machine) revoke(context.Context) {
	id, s, index, dead, losses := pick(m.rng, m.shared.shares), m.store, m.index, m.dead, m.losses.Load()
	m.do("revoke share "+id, func(ctx context.Context) error {
		x, err := s.Share(ctx, id)
		if err != nil {
			return err
		}
		deleted, err := s.DeleteShare(ctx, x.Session, id)
		if deleted && err == nil && !dead.Load() && m.losses.Load() == losses {
			m.check.revoke(index, "share/"+id)
		}
		return err
	})
}

func (m *machine) admit(context.Context) {
	id, s := "v"+m.newID(), m.store
	m.shared.visitors = append(m.shared.visitors, id)
	m.do("admit "+id, func(ctx context.Context) error {
		return s.Admit(ctx, []byte(id), store.Visitor{User: id, Until: time.Now().AddDate(1, 0, 0)})
	})
}

func (m *machine) dismiss(context.Context) {
	id, s, index, dead, losses := pick(m.rng, m.shared.visitors), m.store, m.index, m.dead, m.losses.Load()
	m.do("dismiss "+id, func(ctx context.Context) error {
		if _, err := s.Admitted(ctx, []byte(id)); err != nil {
			return err
		}
		err := s.Dismiss(ctx, []byte(id))
		if err == nil && !dead.Load() && m.losses.Load() == losses {
			m.check.revoke(index, fmt.Sprintf("visitor/%x", id))
		}
		return err
	})
}

// call calls another node.
func (m *machine) call(context.Context) {
	to, id, node := pick(m.rng, m.nodes), m.newID(), m.node
	if !to.ready.Load() || to == m {
		return
	}
	process := to.store.Name()
	m.do("call "+id, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_, answer, err := node.Call(ctx, process, "/test", []byte(`"`+id+`"`))
		if err == nil && string(answer) != `"`+id+`"` {
			m.check.fail("call %s is answered with %q", id, answer)
		}
		return err
	})
}

// answer answers a call.
func (m *machine) answer(_ context.Context, _ string, body []byte) (int, []byte) {
	m.check.execute(string(body))
	return http.StatusOK, body
}

// read reads a record as a reader does.
func (m *machine) read(context.Context) {
	id, s := pick(m.rng, m.shared.sessions), m.store
	m.do("read "+id, func(ctx context.Context) error { return m.check.look(ctx, s, id) })
}
