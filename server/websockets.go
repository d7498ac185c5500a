package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/handlers/acp"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/terminal"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/ws"
)

// lastAnswers is how long a UI that has closed its output still gets answers, on any carrier. The answer to
// its last request may need an agent to start.
const lastAnswers = 30 * time.Second

// webSockets are the WebSocket servers of the dialects. They are separate because their limits differ.
type webSockets struct{ rpc, ui, ws, acp, terminal *socket.Server }

func newWebSockets(c Config, log *slog.Logger) webSockets {
	return webSockets{
		rpc: socket.New(socket.Options{MaxMessage: rpc.MaxMessage, Compress: true, Log: log}),
		ui:  socket.New(socket.Options{MaxMessage: ui.MaxMessage, Compress: true, Linger: lastAnswers, Log: log}),
		ws:  socket.New(ws.Carrier(c.Operations.Compression, log)),
		acp: socket.New(socket.Options{MaxMessage: acp.MaxMessage, Linger: lastAnswers, Log: log}),

		terminal: socket.New(socket.Options{MaxMessage: terminal.MaxMessage, Log: log}),
	}
}

// close closes all connections, which [http.Server.Shutdown] does not know. It aborts those that do not close
// before ctx is done.
func (c webSockets) close(ctx context.Context) {
	var work sync.WaitGroup
	for _, s := range []*socket.Server{c.rpc, c.ui, c.ws, c.acp, c.terminal} {
		work.Go(func() { _ = s.Close(ctx) }) // its only error is that of ctx
	}
	work.Wait()
}
