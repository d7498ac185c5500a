package portaltest

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// pageFrames are the messages that a page exchanges with /ui. They are validated when the tab closes, because the browser waits while
// an event is handled.
type pageFrames struct {
	mu      sync.Mutex
	frames  []pageFrame
	sockets map[network.RequestID]bool // of /ui
}

// pageFrame is a message of a WebSocket.
type pageFrame struct {
	socket network.RequestID
	text   []byte
	isSent bool
}

// record records what the tab exchanges from now on.
func (p *pageFrames) record(tab context.Context) error {
	p.sockets = map[network.RequestID]bool{}
	return chromedp.Listen(tab, p.take)
}

func (p *pageFrames) take(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventWebSocketCreated:
		at, err := url.Parse(e.URL)
		p.sockets[e.RequestID] = err == nil && strings.HasSuffix(at.Path, "/ui")
	case *network.EventWebSocketFrameSent:
		p.add(e.RequestID, e.Response, true)
	case *network.EventWebSocketFrameReceived:
		p.add(e.RequestID, e.Response, false)
	}
}

func (p *pageFrames) add(socket network.RequestID, frame *network.WebSocketFrame, isSent bool) {
	if p.sockets[socket] && frame.Opcode == 1 {
		p.frames = append(p.frames, pageFrame{socket, frame.PayloadData, isSent})
	}
}

// check validates the messages so far against spec/ui.schema.json, once.
func (p *pageFrames) check(tb testing.TB) {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	talks := map[network.RequestID]*contract.Conversation{}
	for _, f := range p.frames {
		if talks[f.socket] == nil {
			talks[f.socket] = contract.Talk(tb, "/ui")
		}
		if f.isSent {
			talks[f.socket].Sent(f.text)
		} else {
			talks[f.socket].Received(f.text)
		}
	}
	p.frames = nil
}
