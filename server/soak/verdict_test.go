package soak_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// verdict compares what the clients of a dialect received with the records.
type verdict struct {
	dialect             string
	clients, reconnects int
	events              int // received, including parts of texts
	counts
}

// counts are differences, in events and bytes of texts.
type counts struct {
	lost       int
	duplicated int      // includes what is in no record
	repeated   int      // by REST after a restart, as documented
	unsaved    int      // received in the last moment before a SIGKILL, and not stored
	faults     []string // what lost and duplicated are
}

func (c *counts) add(other counts) {
	c.lost += other.lost
	c.duplicated += other.duplicated
	c.repeated += other.repeated
	c.unsaved += other.unsaved
	c.faults = append(c.faults, other.faults...)
}

// compare compares all clients with the records.
func (s *soak) compare() {
	for _, d := range dialects() {
		s.verdicts = append(s.verdicts, verdict{dialect: d.name})
	}
	for _, one := range s.sessions {
		r, err := s.host.export(s.Context(), one.id)
		require.NoError(s, err)
		s.prompts.add(one, &r, s.host)
		for i, w := range one.watchers {
			s.verdicts[i].addClient(w, &r)
		}
	}
	s.work.compare()
	s.verdicts = append(s.verdicts, s.work.verdict)
}

func (v *verdict) addClient(w *watcher, r *record) {
	v.clients++
	v.reconnects += w.reconnects
	c := place(w.facts, r.facts(w.fact), w.host.isUnsaved, w.mayRepeat())
	for _, list := range w.facts {
		v.events += len(list)
	}
	for block, conns := range w.texts {
		c.add(place(conns, w.sent(block, []byte(r.texts[block])), w.host.isUnsaved, w.mayRepeat()).in(block))
		for _, list := range conns {
			v.events += len(list)
		}
	}
	for block, text := range r.texts {
		if _, ok := w.texts[block]; !ok && text != "" {
			c.add(counts{lost: len(text), faults: []string{"lost: all of " + block}})
		}
	}
	v.add(c.in(w.session))
}

// sent returns what must have arrived of a text. In a cluster, a client of REST may be so late that the complete text has replaced the rest of
// its parts: it waited for a portal that was cut off, or gets one event with each call.
func (w *watcher) sent(block string, text []byte) []byte {
	conn := w.texts[block][len(w.texts[block])-1]
	if !w.host.isCluster || !w.repeats || w.complete[block] != string(text) || len(conn) == 0 {
		return text
	}
	part := conn[len(conn)-1].units
	if i := bytes.LastIndex(text, part); i >= 0 {
		return text[:i+len(part)]
	}
	return text
}

// mayRepeat returns when the portal may send again on a connection what it has sent there; nil for never. What a killed node had announced to a
// reader without a position holds the reader up for a while, and is not believed then.
func (w *watcher) mayRepeat() func(testclock.Clock) bool {
	const believed = 25 * time.Second // 10 s at each node, in calls of 5 s that reach one after the other
	if !w.repeats {
		return nil
	}
	return func(at testclock.Clock) bool {
		return w.host.isUnsaved(at) || slices.ContainsFunc(w.host.kills, func(kill testclock.Clock) bool {
			return at.Sub(kill) >= 0 && at.Sub(kill) <= believed
		})
	}
}

// in says where the faults are.
func (c counts) in(place string) counts {
	c.faults = slices.Clone(c.faults)
	for i := range c.faults {
		c.faults[i] = place + ": " + c.faults[i]
	}
	return c
}

// place finds what arrived on each connection in the record. What arrived in the last moment before a SIGKILL may come again: the portal
// had not stored it, and recovers it in another form, such as the end of a text that was cut off.
func place[T comparable](conns [][]piece[T], all []T, unsaved, mayRepeat func(testclock.Clock) bool) (c counts) {
	at, arrived := 0, make([]testclock.Clock, len(all))
	for n, conn := range conns {
		units, times := flat(conn)
		if len(units) == 0 {
			continue
		}
		start, same := align(units, all, at)
		if start > at && same < len(units) && unsaved(times[0]) { // of a branch, in which texts may have ended in another order
			start, same = at, 0
		}
		switch {
		case start > at:
			lose(&c, all[at:start], n)
		case start < at && mayRepeat != nil:
			c.repeated += at - start
		case start < at && !slices.ContainsFunc(arrived[start:at], func(t testclock.Clock) bool { return !unsaved(t) }):
			c.unsaved += at - start
		case start < at:
			duplicate(&c, all[start:at], n)
		}
		copy(arrived[start:], times[:same])
		at = start + same
		units, times = units[same:], times[same:]
		for mayRepeat != nil && len(units) > 0 && mayRepeat(times[0]) {
			skipped, next, same := leaveBranch(units, times, all, at, unsaved)
			if same <= at-next { // nothing new
				if skipped == 0 && same == len(units) {
					c.repeated += same
					units, times = nil, nil
				}
				break
			}
			c.unsaved += skipped
			c.repeated += at - next
			units, times, at = units[skipped+same:], times[skipped+same:], next+same
		}
		for i, t := range times {
			if !unsaved(t) {
				duplicate(&c, units[i:], n)
				break
			}
			c.unsaved++
		}
	}
	if at < len(all) {
		lose(&c, all[at:], len(conns))
	}
	return c
}

// maxRepeated is how many units a reader without a position may get again from another portal when the one before could not announce it.
const maxRepeated = 50

// leaveBranch finds where a reader of several portals went on at a position of the record, or a little before it, after units from a portal that
// was cut off. same is the number of units that are there.
func leaveBranch[T comparable](units []T, times []testclock.Clock, all []T, at int, unsaved func(testclock.Clock) bool) (skipped, next, same int) {
	for k := 0; k < len(units) && (k == 0 || unsaved(times[k-1])); k++ {
		for from := at; from >= max(0, at-maxRepeated); from-- {
			if n := common(units[k:], all[from:]); n > same {
				skipped, next, same = k, from, n
			}
		}
	}
	return skipped, next, same
}

func flat[T any](conn []piece[T]) (units []T, times []testclock.Clock) {
	for _, p := range conn {
		for _, u := range p.units {
			units, times = append(units, u), append(times, p.at)
		}
	}
	return units, times
}

// align finds where units begin in the record: at a position, else before it, else after it. same is the number of units
// that are there.
func align[T comparable](units, all []T, at int) (start, same int) {
	same = -1
	try := func(from int) (found bool) {
		if n := common(units, all[from:]); n > same {
			start, same = from, n
		}
		return same == len(units)
	}
	for from := at; from >= 0; from-- {
		if try(from) {
			return start, same
		}
	}
	for from := at + 1; from <= len(all); from++ {
		if try(from) {
			return start, same
		}
	}
	return start, same
}

func common[T comparable](a, b []T) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func lose[T any](c *counts, what []T, connection int) {
	c.lost += len(what)
	c.faults = append(c.faults, fmt.Sprintf("lost on connection %d: %s", connection, shown(what)))
}

func duplicate[T any](c *counts, what []T, connection int) {
	c.duplicated += len(what)
	c.faults = append(c.faults, fmt.Sprintf("too much on connection %d: %s", connection, shown(what)))
}

func shown[T any](what []T) string {
	if text, ok := any(what).([]byte); ok {
		return fmt.Sprintf("%.80q", text)
	}
	return fmt.Sprintf("%.300s", fmt.Sprint(what))
}

// promptCounts are the prompts of all sessions.
type promptCounts struct {
	accepted, unsaved int
	missing           []string       // words of those that are not in the record
	runs              map[string]int // by outcome
	faults            []string
}

// add checks that each accepted prompt is in the record once, and that each run has one end.
func (c *promptCounts) add(s *session, r *record, h *host) {
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	started, ended, prompts := map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range r.events {
		switch e.Type {
		case "run.started":
			started[e.Run]++
		case "run.ended":
			ended[e.Run]++
			c.runs[e.Body.Outcome]++
		case "user.message":
			tag, _, _ := strings.Cut(e.Body.Text, ":")
			prompts[tag]++
		}
	}
	for run, n := range started {
		if n != 1 || ended[run] != 1 {
			c.faults = append(c.faults, fmt.Sprintf("%s: run %s started %d times and ended %d times", s.id, run, n, ended[run]))
		}
	}
	if last := r.outcome(); last != "completed" {
		c.faults = append(c.faults, fmt.Sprintf("%s: the last run, which nothing disturbed, is %q", s.id, last))
	}
	for _, p := range s.accepted {
		c.accepted++
		switch {
		case prompts[p.tag] == 0 && h.isUnsaved(p.at):
			c.unsaved++
			c.missing = append(c.missing, p.tag)
		case prompts[p.tag] != 1:
			c.faults = append(c.faults, fmt.Sprintf("%s: the prompt %s is in the record %d times", s.by.name, p.tag, prompts[p.tag]))
		}
	}
}

// unsavedBefore is the age of events that a killed portal may lose (spec/operating.md, "Storage"), with a reserve for busy
// machines; readAfter is how long after it clients still read what it had sent.
const (
	unsavedBefore = 500 * time.Millisecond
	readAfter     = time.Second
)

// outage is a time in which a portal of a cluster was cut off from the others.
type outage struct{ began, ended testclock.Clock }

// wasCutOff reports whether a portal of a cluster was cut off from the others then.
func (h *host) wasCutOff(at testclock.Clock) bool {
	return slices.ContainsFunc(h.outages, func(o outage) bool { return at.Sub(o.began) >= 0 && o.ended.Sub(at) >= 0 })
}

// isUnsaved reports whether what was received then may be missing from the record.
func (h *host) isUnsaved(at testclock.Clock) bool {
	return h.wasCutOff(at) || slices.ContainsFunc(h.kills, func(kill testclock.Clock) bool {
		return kill.Sub(at) <= unsavedBefore && at.Sub(kill) <= readAfter
	})
}
