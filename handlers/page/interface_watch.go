package page

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// notifyInterface tells what happens to an interface.
const notifyInterface = "portal.interface.event"

// interfaceEvent is something that happened to an interface, and how it is then unless that is a piece.
type interfaceEvent struct {
	InterfaceID string         `json:"interface_id"`
	Type        gallery.Kind   `json:"type"`
	Time        string         `json:"time"`
	Text        string         `json:"text,omitempty"`
	Interface   *interfaceInfo `json:"interface,omitempty"`
}

// watchInterface is portal.interface.watch: what goes on is told from its beginning. Called again it begins anew.
func (n *connection) watchInterface(ctx context.Context, r *jsonrpc.Request) (any, error) {
	p, g, err := interfaceIn(n, r, oneInterface{})
	if err != nil {
		return nil, err
	}
	i, err := g.Get(ctx, p.InterfaceID)
	if err != nil {
		return nil, err
	}
	after := i.Events
	if i.Work != nil {
		after = i.Work.After
	}
	tell := func(ctx context.Context) { n.sendInterfaceEvents(ctx, g, i.ID, after) }
	if err := n.startWatch(ctx, r, interfaceKey(i.ID), tell); err != nil {
		return nil, err
	}
	return interfaceResult{encodeInterface(i)}, nil
}

// unwatchInterface is portal.interface.unwatch. Nothing is told of it behind its response.
func (n *connection) unwatchInterface(ctx context.Context, r *jsonrpc.Request) (any, error) {
	p, _, err := interfaceIn(n, r, oneInterface{})
	if err != nil {
		return nil, err
	}
	was, err := n.replaceWatch(ctx, interfaceKey(p.InterfaceID), nil)
	return map[string]bool{"watched": was}, err
}

// sendInterfaceEvents tells what happens to an interface until it is deleted. Pieces that come together are told as one.
func (n *connection) sendInterfaceEvents(ctx context.Context, g *gallery.Host, id string, after uint64) {
	for {
		events, err := g.Next(ctx, id, after)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			after = gap.First - 1 // pieces of a draft, of which the end counts
			continue
		}
		for _, e := range joined(events) {
			told := interfaceEvent{InterfaceID: id, Type: e.Kind, Time: ui.FormatTime(e.Time), Text: e.Text}
			if e.Kind != gallery.Piece && e.Kind != gallery.Deleted {
				told.Interface = n.readInterface(ctx, g, id)
			}
			if n.client.Notify(ctx, notifyInterface, told) != nil {
				return // nothing can be told any more
			}
			after = e.Number
		}
		if err != nil {
			switch {
			case ctx.Err() != nil, errors.Is(err, io.EOF):
			case fault.KindOf(err) == fault.NotFound: // it was deleted between two looks
				_ = n.client.Notify(ctx, notifyInterface, interfaceEvent{InterfaceID: id, Type: gallery.Deleted, Time: ui.FormatTime(time.Now())})
			default:
				n.api.options.Log.Warn("an interface cannot be watched", "interface", id, "err", err)
			}
			return
		}
	}
}

func (n *connection) readInterface(ctx context.Context, g *gallery.Host, id string) *interfaceInfo {
	i, err := g.Get(ctx, id)
	if err != nil {
		return nil // it was deleted, which the next event tells
	}
	told := encodeInterface(i)
	return &told
}

// joined makes one of pieces that follow each other.
func joined(events []gallery.Event) (list []gallery.Event) {
	for _, e := range events {
		if last := len(list) - 1; last >= 0 && e.Kind == gallery.Piece && list[last].Kind == gallery.Piece {
			list[last].Text, list[last].Number = list[last].Text+e.Text, e.Number
			continue
		}
		list = append(list, e)
	}
	return list
}
