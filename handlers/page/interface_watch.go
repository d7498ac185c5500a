package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

// notifyInterface reports an event of an interface.
const notifyInterface = "portal.interface.event"

// interfaceEvent is an event of an interface, with the interface as it is then, except for a
// piece.
type interfaceEvent struct {
	InterfaceID string         `json:"interface_id"`
	Type        gallery.Kind   `json:"type"`
	Time        string         `json:"time"`
	Text        string         `json:"text,omitempty"`
	Interface   *interfaceInfo `json:"interface,omitempty"`
}

// watchInterface is portal.interface.watch: it sends the events of the work in progress from its
// start. A second call replaces the first watch.
func (n *connection) watchInterface(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p oneInterface
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	g, err := n.gallery(p)
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
	send := func(ctx context.Context) { n.sendInterfaceEvents(ctx, g, i.ID, after) }
	if err := n.startWatch(ctx, r, interfaceKey(i.ID), send); err != nil {
		return nil, err
	}
	return interfaceResult{encodeInterface(i)}, nil
}

// unwatchInterface is portal.interface.unwatch. Nothing about the interface follows its response.
func (n *connection) unwatchInterface(ctx context.Context, p oneInterface) (any, error) {
	if _, err := n.gallery(p); err != nil {
		return nil, err
	}
	was, err := n.replaceWatch(ctx, interfaceKey(p.InterfaceID), nil)
	return map[string]bool{"watched": was}, err
}

// sendInterfaceEvents sends the events of an interface until it is deleted. It joins adjacent pieces. A gap only
// has pieces of a draft, whose end has all of it.
func (n *connection) sendInterfaceEvents(ctx context.Context, g *gallery.Host, id string, after uint64) {
	reader := g.Reader(id, after)
	reader.Retry = n.retry(interfaceKey(id))
	for b, err := range reader.All(ctx) {
		switch {
		case ctx.Err() != nil:
			return
		case fault.KindOf(err) == fault.NotFound: // deleted between two reads
			_ = n.client.Notify(ctx, notifyInterface, interfaceEvent{InterfaceID: id, Type: gallery.Deleted, Time: event.FormatTime(time.Now())})
			return
		case err != nil:
			n.api.options.Log.Warn("cannot watch interface", "interface", id, "err", err)
			return
		}
		for _, e := range joined(b.Entries) {
			sent := interfaceEvent{InterfaceID: id, Type: e.Kind, Time: event.FormatTime(e.Time), Text: e.Text}
			if e.Kind != gallery.Piece && e.Kind != gallery.Deleted {
				sent.Interface = n.readInterface(ctx, g, id, reader.Retry)
			}
			if n.client.Notify(ctx, notifyInterface, sent) != nil || e.Kind == gallery.Deleted {
				return // the connection ends, or nothing follows
			}
		}
	}
}

// readInterface returns nil for a deleted interface: the next event says so.
func (n *connection) readInterface(ctx context.Context, g *gallery.Host, id string, retry func(error) time.Duration) *interfaceInfo {
	i, err := follow.Retried(ctx, retry, func() (gallery.Item, error) { return g.Get(ctx, id) })
	if err != nil {
		if ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
			n.api.options.Log.Warn("cannot read interface", "interface", id, "err", err)
		}
		return nil
	}
	encoded := encodeInterface(i)
	return &encoded
}

// joined joins adjacent pieces.
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
