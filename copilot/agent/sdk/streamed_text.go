package sdk

import (
	"strings"
	"time"
	"unicode"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/event"
)

// When about 10,000 events of a burst are unread, the CLI starts to repeat events and to send others too early.
// Each piece of a text makes two events.
const (
	orderedPieces = 1 << 10              // the first pieces of a text, which arrive in order; disorder was seen from piece 1,068 on
	burstInterval = 4 * time.Millisecond // the mean time between the pieces of a burst is shorter
	maxPieces     = 1 << 17              // pieces after which the rest of a text is not streamed, to bound the ids in memory
	maxOver       = 64                   // the minimum number of ended texts remembered
)

// streamedText is an open text of the model. Its pieces have no numbers, but the CLI also reports the size of
// the response as it grows. A piece is in order if it is as long as the response has grown. The zero value of
// the other fields is ready to use. It is not safe for concurrent use.
type streamedText struct {
	agent string // sub-agent that produces it

	ids     map[string]bool // ids of its pieces
	began   time.Time       // when the CLI got its first piece
	before  int64           // size of the response before it
	size    int64           // size of the pieces in order
	unsized bool            // the reported sizes do not measure it
	sent    strings.Builder // all pieces that were passed on
	pending string          // the last piece, until the next one confirms it
	held    bool            // pieces are missing: the end of the text brings the rest
}

// add adds a piece, which the CLI got at a time, and returns what can be passed on. The response is the latest
// size that was reported.
func (x *streamedText) add(id, piece string, at time.Time, response int64) string {
	if x.held || piece == "" || x.ids[id] {
		return ""
	}
	if x.ids == nil {
		x.ids, x.began, x.before = map[string]bool{}, at, response-int64(len(piece))
	}
	if id != "" {
		x.ids[id] = true
	}
	x.size += int64(len(piece))
	inOrder := x.before+x.size == response
	if len(x.ids) <= orderedPieces {
		x.unsized = x.unsized || !inOrder
	} else if !x.unsized && !inOrder || len(x.ids) > maxPieces {
		x.held, x.ids = true, nil
		return ""
	}
	piece, x.pending = x.confirm(piece, at)
	x.sent.WriteString(piece)
	return piece
}

// confirm returns what can be passed on at a piece that has the expected size. In a burst, one that came too early may have it, too, but
// not the one after it. The model may pause after the pieces of a steady text, so these do not wait for another one.
func (x *streamedText) confirm(piece string, at time.Time) (confirmed, pending string) {
	isBurst := at.Sub(x.began) < time.Duration(len(x.ids))*burstInterval
	if isBurst && !x.unsized && len(x.ids) > orderedPieces {
		return x.pending, piece
	}
	return x.pending + piece, ""
}

// rest returns what follows the pieces that were passed on. It reports false if the text does not begin with
// them. The CLI removes blanks around a text at its end.
func (x *streamedText) rest(whole string) (rest string, ok bool) {
	if x == nil || whole == "" || x.sent.Len() == 0 {
		return "", true
	}
	sent := strings.TrimLeftFunc(x.sent.String(), unicode.IsSpace)
	rest, ok = strings.CutPrefix(strings.TrimLeftFunc(whole, unicode.IsSpace), sent)
	if !ok && strings.TrimSpace(whole) == strings.TrimSpace(sent) {
		return "", true
	}
	return rest, ok
}

// openTexts are the open messages or thoughts, by their ids, and the events for them.
type openTexts struct {
	open    map[string]*streamedText
	over    idSet // texts that have ended: some of their pieces may arrive again
	started func(id string) event.Body
	delta   func(id, text string) event.Body
	ended   func(id, text string) event.Body
}

func openThoughts() openTexts {
	return openTexts{
		open:    map[string]*streamedText{},
		over:    idSet{most: maxOver},
		started: func(id string) event.Body { return event.ReasoningStarted{ID: id} },
		delta:   func(id, text string) event.Body { return event.ReasoningDelta{ID: id, Text: text} },
		ended:   func(id, text string) event.Body { return event.ReasoningEnded{ID: id, Text: text} },
	}
}

func openMessages() openTexts {
	return openTexts{
		open:    map[string]*streamedText{},
		over:    idSet{most: maxOver},
		started: func(id string) event.Body { return event.MessageStarted{ID: id} },
		delta:   func(id, text string) event.Body { return event.MessageDelta{ID: id, Text: text} },
		ended:   func(id, text string) event.Body { return event.MessageEnded{ID: id, Text: text} },
	}
}

// begin starts a text, unless it is open.
func (o *openTexts) begin(agent, id string) []event.Body {
	if o.open[id] != nil || o.over.has(id) {
		return nil
	}
	o.open[id] = &streamedText{agent: agent}
	return []event.Body{o.started(id)}
}

// add adds a piece to a text, which begins with it if it is not open.
func (o *openTexts) add(agent, id, piece string, e vendor.SessionEvent, response int64) []event.Body {
	if o.over.has(id) {
		return nil
	}
	bodies := o.begin(agent, id)
	if piece = o.open[id].add(e.ID, piece, e.Timestamp, response); piece != "" {
		bodies = append(bodies, o.delta(id, piece))
	}
	return bodies
}

// end ends a text, so that its deltas are equal to the whole. If other deltas were passed on, it ends without
// a text, and another one replaces it.
func (o *openTexts) end(id, whole string) []event.Body {
	rest, ok := o.open[id].rest(whole)
	o.close(id)
	switch {
	case !ok:
		again := id + "-2"
		return []event.Body{o.ended(id, ""), o.started(again), o.delta(again, whole), o.ended(again, whole)}
	case rest != "":
		return []event.Body{o.delta(id, rest), o.ended(id, whole)}
	}
	return []event.Body{o.ended(id, whole)}
}

// close removes a text. Pieces without ids are not recognized when they arrive again, and are not expected to.
func (o *openTexts) close(id string) {
	if x := o.open[id]; x != nil && (x.held || len(x.ids) > 0) {
		o.over.add(id)
	}
	delete(o.open, id)
}

// abandon ends the texts of an agent without a text.
func (o *openTexts) abandon(agent string) (bodies []event.Body) {
	for id, x := range o.open {
		if x.agent == agent {
			bodies = append(bodies, o.ended(id, ""))
			delete(o.open, id)
		}
	}
	return bodies
}

// forget forgets the texts of agents that are not active.
func (o *openTexts) forget(active map[string]bool) {
	o.over.rotate()
	for id, x := range o.open {
		if !active[x.agent] {
			o.close(id)
		}
	}
}
