package rest

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// Limits of one page of history: default and maximum number of entries,
// and approximate maximum size in bytes.
const (
	historyEvents = 500
	historyLimit  = 5000
	historyBytes  = 8 << 20
)

// history returns a page of the record as it is now, without waiting.
func (a *API) history(c *gin.Context) {
	after, err := number(c, "after", 64)
	if err != nil {
		fail(c, err)
		return
	}
	limit, err := number(c, "limit", 64)
	if err != nil {
		fail(c, err)
		return
	}
	if limit == 0 {
		limit = historyEvents
	}
	a.withSession(c, func(s *copilot.Session) {
		p := page{after: after, last: s.Record().Last(), room: int(min(limit, historyLimit))}
		err := p.read(c.Request.Context(), s.Record())
		if err == nil {
			err = p.addOpenBlocks(c.Request.Context(), s.Record(), after)
		}
		if err != nil {
			fail(c, err)
			return
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", p.answer())
	})
}

// page is a part of a record, encoded as JSON.
type page struct {
	after  uint64 // last number that the page covers so far
	last   uint64 // newest number when the page was started
	room   int    // how many more entries fit
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
	return p.after < p.last && p.room > 0 && p.buffer.Len() < historyBytes
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
