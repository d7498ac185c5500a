package cluster_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

// checker checks the rules:
//   - One node writes in an epoch of a session. The next one is begun by a claim, and nothing follows a removal.
//   - The log has the numbers of a record without holes, and each once. What a reader has seen under a number stays in the epoch.
//   - What a node has stored of an accepted entry is in the session or in a branch, unless the session was removed.
//   - An activity has its lines without holes. One node writes them between adoptions.
//   - What was revoked stays revoked on all nodes.
//   - A call is executed once at most. No client waits for ever.
//   - In the end all nodes have the same.
type checker struct {
	w *world

	mu                         sync.Mutex
	broken                     string
	messages, claims, branches int
	records                    map[string]*record
	written                    map[string]bool // entries in the log
	entries                    map[string]accepted
	acks                       map[string]accepted
	lasts                      map[*store.Lease]uint64
	seen                       map[string]string // entries by session, epoch and number
	revoked                    map[string]int    // subjects, with nodes
	executed                   map[string]int    // calls
}

// record is a session or activity according to the log.
type record struct {
	epoch   uint64
	node    string
	last    uint64
	data    []string
	removed bool
}

// accepted is an entry that a lease has accepted.
type accepted struct {
	node   int
	lease  *store.Lease
	number uint64
}

func newChecker(w *world) *checker {
	return &checker{
		w: w, records: map[string]*record{}, written: map[string]bool{}, entries: map[string]accepted{}, acks: map[string]accepted{},
		lasts: map[*store.Lease]uint64{}, seen: map[string]string{}, revoked: map[string]int{}, executed: map[string]int{},
	}
}

// fail notes that a rule is broken.
func (c *checker) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(format, args...)
}

func (c *checker) failLocked(format string, args ...any) {
	if c.broken == "" {
		c.broken = fmt.Sprintf(format, args...)
	}
}

// failed panics if a rule is broken.
func (c *checker) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != "" {
		panic(c.broken)
	}
}

// stored checks a message of the log.
func (c *checker) stored(m memlog.Stored) {
	x, err := cluster.Decode(context.Background(), &memlog.Log{}, m.Data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages++
	if err != nil {
		c.failLocked("message %d: %v", m.Sequence, err)
		return
	}
	c.w.note("message %d: %s of %s: version %d, epoch %d, up to %d, removed %v, whole %v", m.Sequence, x.Subject, x.Node, x.Version, x.Epoch, x.Last,
		x.Removed, x.Session != nil || x.Activity != nil)
	kind, _ := store.SplitSubject(x.Subject)
	if kind != "session" && kind != "job" {
		return
	}
	r, known := c.records[x.Subject]
	if !known {
		if x.Session != nil && strings.Contains(x.Session.Title, "(branch of") {
			c.branches++
		}
		r = &record{epoch: x.Epoch, node: x.Node}
		c.records[x.Subject] = r
	}
	switch {
	case r.removed:
		c.failLocked("message %d changes %s after its removal", m.Sequence, x.Subject)
	case x.Removed:
		r.removed = true
		return
	case x.Claim && x.Version == 0 && kind == "session" && x.Epoch != r.epoch+1:
		c.failLocked("message %d claims %s with epoch %d after %d", m.Sequence, x.Subject, x.Epoch, r.epoch)
	case x.Claim:
		c.claims++
		r.node, r.epoch = x.Node, x.Epoch
	case x.Epoch != r.epoch || x.Node != r.node:
		c.failLocked("message %d of %s: epoch %d of node %s, not %d of %s", m.Sequence, x.Subject, x.Epoch, x.Node, r.epoch, r.node)
	}
	for _, e := range x.Entries {
		if e.Number != r.last+1 {
			c.failLocked("message %d: %s has %d after %d", m.Sequence, x.Subject, e.Number, r.last)
		}
		r.last = e.Number
		r.data = append(r.data, string(e.Data))
		c.written[string(e.Data)] = true
	}
	if x.Last != r.last {
		c.failLocked("message %d: %s ends with %d, not %d", m.Sequence, x.Subject, r.last, x.Last)
	}
}

func (c *checker) handed(l *store.Lease) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.lasts[l], l.Head().Last)
}

func (c *checker) accepted(node int, l *store.Lease, n uint64, data string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lasts[l] = n
	c.entries[data] = accepted{node, l, n}
}

// acknowledge notes which entries are durable on a node.
func (c *checker) acknowledge(node int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for data, a := range c.entries {
		if a.node == node && a.lease.Stored() >= a.number {
			c.acks[data] = a
			delete(c.entries, data)
		}
	}
}

// forget notes that a node has lost its data.
func (c *checker) forget(node int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.acks, func(data string, a accepted) bool { return a.node == node && !c.written[data] })
	maps.DeleteFunc(c.entries, func(_ string, a accepted) bool { return a.node == node })
	maps.DeleteFunc(c.revoked, func(_ string, by int) bool { return by == node })
}

func (c *checker) revoke(node int, subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked[subject] = node
}

func (c *checker) execute(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.executed[call]++; c.executed[call] > 1 {
		c.failLocked("call %s is executed twice", call)
	}
}

// look compares a record with what readers have seen before.
func (c *checker) look(ctx context.Context, s *store.Store, id string) error {
	before, err := s.Session(ctx, id)
	if err != nil {
		return err
	}
	entries, err := s.Read(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	after, err := s.Session(ctx, id)
	if err != nil || before.Epoch != after.Epoch {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range entries {
		key := fmt.Sprintf("%s %d %d", id, after.Epoch, e.Number)
		if old, known := c.seen[key]; known && old != string(e.Data) {
			c.failLocked("%s was %q, and is %q", key, old, e.Data)
		}
		if e.Number != uint64(i)+1 {
			c.failLocked("%s has %d after %d entries", id, e.Number, i)
		}
		c.seen[key] = string(e.Data)
	}
	return nil
}

// converged checks that all nodes have the same, and what the log says.
func (c *checker) converged() {
	var first []string
	for _, m := range c.w.nodes {
		now := dump(m.directory)
		if m.index == 0 {
			first = now
			continue
		}
		if !slices.Equal(first, now) {
			panic(fmt.Sprintf("nodes 0 and %d differ:\n%s", m.index, difference(first, now)))
		}
	}
	for subject, r := range c.records {
		c.record(first, subject, r)
	}
	for data, a := range c.acks {
		if r := c.records["session/"+a.lease.Session()]; !c.written[data] && (r == nil || !r.removed) {
			panic(fmt.Sprintf("entry %q of node %d is lost", data, a.node))
		}
	}
	for subject := range c.revoked {
		for _, line := range first {
			if strings.HasPrefix(line, subject+" ") {
				panic(subject + " is back")
			}
		}
	}
}

// record checks that the nodes have a record as the log says.
func (c *checker) record(lines []string, subject string, r *record) {
	var data []string
	if kind, id := store.SplitSubject(subject); kind == "session" {
		entries, err := c.w.nodes[0].store.Read(context.Background(), id, 0, 0)
		must(err)
		for _, e := range entries {
			data = append(data, string(e.Data))
		}
	} else {
		all, err := c.w.nodes[0].store.Lines(context.Background(), kind, id, 0, 0)
		must(err)
		for _, line := range all {
			data = append(data, string(line))
		}
	}
	want := r.data
	if r.removed {
		want = nil
	}
	if !slices.Equal(data, want) {
		panic(fmt.Sprintf("%s is %q, but in the log %q", subject, data, want))
	}
	if known := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, subject+" ") }); known == r.removed {
		panic(fmt.Sprintf("%s exists: %v, removed: %v", subject, known, r.removed))
	}
}

// dump returns everything that nodes share, as one has it.
func dump(directory string) []string {
	db, err := sql.Open("sqlite", "file:"+directory+"/sessions.db?_pragma=busy_timeout(5000)")
	must(err)
	defer db.Close()
	var lines []string
	for _, query := range []string{
		`SELECT 'session/' || id || ' ' || concat_ws('|', title, epoch, closed, last, changed, created, owner, hex(data), pinned.session IS NOT NULL)
			FROM session LEFT JOIN meta ON meta.session = key LEFT JOIN pinned ON pinned.session = key`,
		"SELECT concat_ws('|', 'text', id, number, kind, body) FROM text JOIN session ON session.key = text.session",
		"SELECT concat_ws('|', 'position', id, name, number) FROM position JOIN session ON session.key = position.session",
		"SELECT kind || '/' || id || ' ' || concat_ws('|', created, changed, hex(head), done, last, owner) FROM activity",
		"SELECT concat_ws('|', 'line', id, number, hex(data)) FROM line JOIN activity ON activity.key = line.activity",
		"SELECT 'visitor/' || lower(hex(hash)) || ' ' || concat_ws('|', user, scopes, expires) FROM visitor",
		"SELECT 'share/' || id || ' ' || concat_ws('|', session, hex(hash), rights, label, created, expires, used) FROM share",
	} {
		rows, err := db.Query(query)
		must(err)
		for rows.Next() {
			var line string
			must(rows.Scan(&line))
			lines = append(lines, line)
		}
		must(rows.Err())
		must(rows.Close())
	}
	slices.Sort(lines)
	return lines
}

// difference returns the lines that only one has.
func difference(a, b []string) string {
	var out strings.Builder
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Fprintln(&out, "-", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			fmt.Fprintln(&out, "+", line)
		}
	}
	return out.String()
}
