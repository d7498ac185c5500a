package export

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// Page returns the events of a record after a number, as it is now, without waiting: {"events": […], "last": n}, where last is the newest
// number. It has at most limit events and about size bytes; "next" is then the number after which the next page begins. "open" holds the
// blocks that are open at the start of the page. An event has the form of [JSONL], with its number as "n"; a gap has its line there.
func Page(ctx context.Context, r *event.Record, after uint64, limit, size int) ([]byte, error) {
	p := page{after: after, last: r.Last(), room: limit, size: size}
	if err := p.read(ctx, r); err != nil {
		return nil, err
	}
	if err := p.addOpenBlocks(ctx, r, after); err != nil {
		return nil, err
	}
	return p.answer(), nil
}

// page is a part of a record, encoded as JSON.
type page struct {
	after  uint64 // last number that the page covers so far
	last   uint64 // newest number when the page was started
	room   int    // how many more entries fit
	size   int    // how many bytes are enough
	buffer bytes.Buffer
	open   [][]byte // encoded start events and texts of the blocks open at the start of the page
}

// addOpenBlocks adds the blocks that are open after a number, so that a client that has not read what
// came before can assign the deltas on the page.
func (p *page) addOpenBlocks(ctx context.Context, r *event.Record, after uint64) error {
	blocks, err := follow.OpenBlocksAt(ctx, r, min(after, p.last))
	if err != nil {
		return err
	}
	for _, b := range blocks {
		for _, e := range b.Events() {
			line, err := event.Encode(e)
			if err != nil {
				return err
			}
			p.open = append(p.open, line)
		}
	}
	return nil
}

// read fills the page.
func (p *page) read(client context.Context, r *event.Record) error {
	for b, err := range follow.Record(r, p.after).Until(client, p.last) {
		if err != nil {
			return err
		}
		if b.Gap != nil {
			p.addGap(b.Gap)
		}
		for len(b.Entries) > 0 && p.needsMore() {
			if err := p.add(b.Entries[0]); err != nil {
				return err
			}
			b.Entries = b.Entries[1:]
		}
		if !p.needsMore() {
			return nil
		}
	}
	p.after = max(p.after, p.last)
	return nil
}

func (p *page) needsMore() bool {
	return p.after < p.last && p.room > 0 && p.buffer.Len() < p.size
}

// add encodes an event with its number. It omits superseded events.
func (p *page) add(e follow.Entry) error {
	p.after = e.N
	if e.Superseded {
		return nil
	}
	line, err := event.Encode(e.Value)
	if err != nil {
		return err
	}
	p.next(`{"n":` + strconv.FormatUint(e.N, 10) + ",")
	p.buffer.Write(line[len("{"):])
	return nil
}

// addGap adds a line for a gap, in the form of an export.
func (p *page) addGap(gap *journal.GapError) {
	p.next(`{"type":"gap","after":` + strconv.FormatUint(gap.After, 10) + `,"first":` + strconv.FormatUint(gap.First, 10) + "}")
	p.after = gap.First - 1
}

// next starts an entry.
func (p *page) next(text string) {
	if p.buffer.Len() > 0 {
		p.buffer.WriteByte(',')
	}
	p.buffer.WriteString(text)
	p.room--
}

func (p *page) answer() []byte {
	b := []byte("{")
	if len(p.open) > 0 {
		b = slices.Concat(b, []byte(`"open":[`), bytes.Join(p.open, []byte(",")), []byte("],"))
	}
	b = slices.Concat(b, []byte(`"events":[`), p.buffer.Bytes())
	b = strconv.AppendUint(append(b, `],"last":`...), p.last, 10)
	if p.after < p.last {
		b = strconv.AppendUint(append(b, `,"next":`...), p.after, 10)
	}
	return append(b, '}')
}
