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

// How much a call of history hands out: entries without being told, entries at
// most, and about how many bytes at most.
const (
	historyEvents = 500
	historyLimit  = 5000
	historyBytes  = 8 << 20
)

// history is a part of the record as it is now. It waits for nothing.
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

// page is a part of a record on its way to JSON.
type page struct {
	after  uint64 // what the page covers up to now
	last   uint64 // the newest number when it was begun
	room   int    // how many entries it may still take
	buffer bytes.Buffer
	open   [][]byte // events that stand for the blocks that are open where it begins
}

// addOpenBlocks adds the blocks that are open behind a number: a client that has not read what
// was before could not tell what the pieces on the page belong to.
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
		for len(b.Entries) > 0 && p.wants() {
			if err := p.add(b.Entries[0]); err != nil {
				return err
			}
			b.Entries = b.Entries[1:]
		}
		if !p.wants() {
			return nil
		}
	}
	p.after = max(p.after, p.last)
	return nil
}

func (p *page) wants() bool { return p.after < p.last && p.room > 0 && p.buffer.Len() < historyBytes }

// add takes an event, as it is encoded, with its number put in. What a later one
// stands for is left out.
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

// addGap takes a line for what is gone, as an export has it.
func (p *page) addGap(gap *journal.GapError) {
	p.next(`{"type":"gap","after":` + strconv.FormatUint(gap.After, 10) + `,"first":` + strconv.FormatUint(gap.First, 10) + "}")
	p.after = gap.First - 1
}

// next begins an entry.
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
