package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/plain"
)

// bounds limit a history (spec/contracts/ui-protocol.md, "5.5 session.history").
type bounds struct{ runs, events int }

const (
	defaultRuns   = 20
	defaultEvents = 1500

	leastWindow = 256  // the smallest first read, in entries
	firstWindow = 4096 // the largest
	batch       = 128  // entries per read
)

// history is the past of a session as messages.
type history struct {
	entryEncoder
	blocks   event.Blocks
	messages []message // without deltas
	now      []message // what there is of the incomplete texts after them
	runs     int       // runs that begin in it
	gap      bool      // what was before is no longer kept
	before   string    // a cursor: where the part before it ends, which was not read; "" if there is none

	isEarlier bool // the UI has what follows
}

// readHistory reads back from a number until the bounds are reached. It reads growing windows, so
// it reads less than a third twice.
func readHistory(ctx context.Context, record *event.Record, b bounds, last uint64) (*history, error) {
	for window := uint64(min(firstWindow, max(leastWindow, 2*b.events))); ; window *= 4 {
		from := last - min(last, window)
		p := &history{entryEncoder: entryEncoder{runEncoder: newRunEncoder(), after: from}}
		if err := p.read(ctx, record, last, from == 0); err != nil {
			return nil, err
		}
		if from == 0 || p.gap || p.runs > 0 && (p.runs >= b.runs || len(p.messages) >= b.events) {
			return p, nil
		}
	}
}

// read reads up to a number, from the first run that begins there. Unless whole is set it skips
// what comes before that run.
func (p *history) read(ctx context.Context, record *event.Record, last uint64, whole bool) error {
	reader := newReader(record, p.after)
	for b, err := range reader.Until(ctx, last) {
		if err != nil {
			return unreadable(err)
		}
		if b.Gap != nil {
			*p = history{entryEncoder: entryEncoder{runEncoder: newRunEncoder(), after: b.Gap.First - 1}, gap: true}
			whole = true
			continue
		}
		for _, e := range b.Entries {
			if isBegin(e) {
				p.runs++
				if !whole && p.runs == 1 {
					p.before = cursor{record.Position(e.N - 1), 0, 0}.String()
				}
			}
			if whole || p.runs > 0 {
				p.add(record, e)
			}
		}
		p.after = reader.After()
	}
	p.now = p.incomplete(record)
	if h := p.runEncoder.heldBlock; h != nil {
		p.now = append(p.now, p.textSoFar(record, event.Block{Run: p.runEncoder.run, Began: time.UnixMilli(h.ms)}, "text", h.id, h.text)...)
	}
	return nil
}

func newReader(record *event.Record, after uint64) *follow.Reader[follow.Entry] {
	r := follow.Record(record, after)
	r.Limit = batch
	return r
}

// add adds an entry. A text is added whole where it ends, without its deltas.
func (p *history) add(record *event.Record, e follow.Entry) {
	if _, over := e.Value.Body.(event.RunEnded); over { // records of older versions have texts without ends
		p.messages = append(p.messages, p.incomplete(record)...)
	}
	p.blocks.Apply(e.Value)
	for _, m := range p.encode(record, e) {
		if !m.isDelta() {
			p.messages = append(p.messages, m)
		}
	}
}

// isDelta reports whether a history omits the message: a part of a text that it has whole, or the
// retraction of a text that it never had.
func (m message) isDelta() bool {
	switch e := m.event.(type) {
	case delta:
		return !m.begins
	case block:
		return e.Content == ""
	}
	return false
}

// incomplete returns the open blocks as far as they are.
func (p *history) incomplete(record *event.Record) (list []message) {
	for _, b := range p.blocks.Open() {
		switch start := b.Start.(type) {
		case event.ReasoningStarted:
			list = append(list, p.textSoFar(record, b, "reasoning", start.ID, plain.Text(b.Text))...)
		case event.MessageStarted:
			list = append(list, p.textSoFar(record, b, messageTarget(b.Agent), start.ID, plain.Text(b.Text))...)
		case event.ToolStarted:
			list = append(list, p.textSoFar(record, b, "tool", start.ID, plain.Output(b.Text))...)
		}
	}
	return list
}

// textSoFar returns the text of an open block as one message; none if it is empty.
func (p *history) textSoFar(record *event.Record, b event.Block, target, id, text string) []message {
	if text == "" {
		return nil
	}
	return []message{{
		method: notifyEvent, to: forDeltas, run: b.Run, seq: p.runEncoder.seq - 1, agent: b.Agent, time: b.Began.UnixMilli(),
		cursor: cursor{record.Position(p.after), p.runEncoder.begun, 0}, entry: p.after,
		block: blockKey{target, id}, event: delta{Type: "delta", Target: target, ID: id, Content: text},
	}}
}

func isBegin(e follow.Entry) bool {
	_, ok := e.Value.Body.(event.RunStarted)
	return ok
}

// unreadable returns the error for a record that cannot be read.
func unreadable(err error) error {
	if fault.KindOf(err) != fault.Internal || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Errorf(fault.Unavailable, "the session's record could not be read: %w", err)
}

// selectedHistory is the part of a history that a UI gets.
type selectedHistory struct {
	messages  []message
	runs      int
	truncated bool   // there is more before it, or was
	earlier   string // a cursor: where the rest ends; "" if there is none
}

// latest returns the messages that a UI wants from the newest runs and events, within the bounds.
// Beyond the bounds it returns what began earlier and is still open, first, and incomplete texts,
// last.
func (p *history) latest(b bounds, wants func(message) bool) selectedHistory {
	selected, count := selectedHistory{truncated: p.gap || p.before != "", earlier: p.before}, budget{most: b, sent: map[string]bool{}}
	from := len(p.messages) // the oldest event that is sent
	for i, m := range slices.Backward(p.messages) {
		switch {
		case m.method != notifyEvent || !wants(m) || count.isSuperseded(m):
			continue
		case count.add(m):
			from = i
			continue
		}
		from = entryStart(p.messages, from)
		selected.truncated, selected.earlier = true, p.messages[from-1].cursor.String()
		selected.runs = count.runs
		selected.messages = p.compact(slices.Concat(p.messagesBefore(from), p.messages[from:]), wants)
		return selected
	}
	selected.runs = count.runs
	selected.messages = p.compact(p.messages, wants)
	return selected
}

// entryStart moves a cut between messages to the beginning of an entry, but not to the first one.
func entryStart(messages []message, at int) int {
	for at > 1 && at < len(messages) && messages[at-1].entry == messages[at].entry {
		at--
	}
	return at
}

// messagesBefore returns the messages before a cut that the messages after it need.
func (p *history) messagesBefore(cut int) []message {
	list := openMessages(p.messages[:cut])
	if p.isEarlier {
		list = slices.DeleteFunc(list, func(m message) bool { return m.latest != "" })
	}
	return list
}

// openMessages returns the messages that later ones need: the beginnings of blocks that are still
// open, and the newest message of each key in latest.
func openMessages(messages []message) (list []message) {
	ended, over := map[blockKey]bool{}, false
	for _, m := range slices.Backward(messages) {
		switch {
		case m.latest != "":
			list = append(list, m)
		case over:
		case m.isTerminal():
			over = true
		case m.closes:
			ended[m.block] = true
		case m.block != blockKey{} && !ended[m.block]:
			list = append(list, m)
		}
	}
	slices.Reverse(list)
	return list
}

// openAtEnd returns the beginnings of the blocks that are still open.
func (p *history) openAtEnd() []message {
	return p.compact(openMessages(p.messages), func(m message) bool {
		return m.method == notifyEvent && m.latest == ""
	})
}

// withoutAdditive removes what adds up and was sent with what follows. Beginnings of open blocks
// were sent, too, but belong here.
func withoutAdditive(messages []message) []message {
	goesOn := ""
	for _, m := range openMessages(messages) {
		if m.block.kind == blockUsage {
			goesOn = m.run
		}
	}
	return slices.DeleteFunc(messages, func(m message) bool { return m.block.kind == blockUsage && m.run == goesOn })
}

// compact removes messages that are not wanted, that a later one supersedes, and that start a text
// of which nothing follows. It adds the incomplete texts.
func (p *history) compact(messages []message, wants func(message) bool) (list []message) {
	c, follows := budget{sent: map[string]bool{}}, map[runBlock]bool{}
	if p.isEarlier {
		for _, m := range openMessages(p.messages) {
			follows[runBlock{m.run, m.block}] = true
		}
	}
	for _, m := range slices.Backward(withoutEmptyStarts(slices.Concat(messages, p.now), follows)) {
		if wants(m) && !c.isSuperseded(m) {
			list = append(list, m)
		}
	}
	slices.Reverse(list)
	return list
}

// withTextStarts keeps the starts of texts of which something follows, or may follow after these
// messages.
func withTextStarts(messages []message, more bool) []message {
	follows := map[runBlock]bool{}
	for _, m := range openMessages(messages) {
		follows[runBlock{m.run, m.block}] = more
	}
	return withoutEmptyStarts(messages, follows)
}

// silentTextStarts returns the starts of open texts of which nothing was sent.
func silentTextStarts(known []message) (list []message) {
	wasSent := map[blockKey]bool{}
	for _, m := range known {
		if piece, isPiece := m.event.(delta); isPiece && !m.begins {
			wasSent[blockKey{piece.Target, piece.ID}] = true
		}
	}
	for _, m := range openMessages(known) {
		if m.begins && !wasSent[m.block] {
			m.begins = false
			list = append(list, m)
		}
	}
	return list
}

// withoutEmptyStarts removes the starts of texts of which nothing follows, here or in follows, by
// block.
func withoutEmptyStarts(messages []message, follows map[runBlock]bool) (list []message) {
	for _, m := range slices.Backward(messages) {
		if m.begins && !follows[runBlock{m.run, m.block}] {
			continue
		}
		m.begins = false
		follows[runBlock{m.run, m.block}] = true
		list = append(list, m)
	}
	slices.Reverse(list)
	return list
}

// budget counts the messages selected from the end of a history.
type budget struct {
	bounds
	most bounds
	run  string
	sent map[string]bool // by key of latest
}

// isSuperseded reports whether a later message supersedes this one.
func (c *budget) isSuperseded(m message) bool {
	stale := c.sent[m.latest]
	c.sent[m.latest] = m.latest != ""
	return stale
}

// add counts a message; it returns false beyond the bounds.
func (c *budget) add(m message) bool {
	isNew := m.run != "" && m.run != c.run
	if c.events == c.most.events || isNew && c.runs == c.most.runs {
		return false
	}
	c.events++
	if isNew {
		c.run = m.run
		c.runs++
	}
	return true
}
