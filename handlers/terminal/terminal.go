// Package terminal carries a shell in the directory of a session over a WebSocket (spec/page.md, "Terminal"). It is a dialect of its
// own, because a terminal is no part of a session: nothing of it is recorded.
//
// One goroutine of a connection sends, one receives, and one passes on what the user types, which may have to wait for a program.
// While a client has not shown what it got, the shell is not read, so a program that prints without end waits.
package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/terminal"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/wire"
)

// Limits of a connection.
const (
	MaxMessage = 64 << 10 // bytes of a message of the client

	most      = 16       // terminals at the same time
	piece     = 16 << 10 // bytes of output in a frame
	unshown   = 16       // frames that the client has not confirmed
	untyped   = 256      // messages of input that no program has read; more are dropped
	beginning = 80       // columns, until the client says more
)

// Kinds of frames to the client: their first letter.
const (
	output = "o" // text for the terminal
	ending = "e" // why there is no more
)

// Options of the [API].
type Options struct {
	Host    *copilot.Host
	Sockets *socket.Server // the caller must close it
	Environ []string       // of the shells, without secrets of the portal
	Refusal func() Refusal // says why there are no terminals
	Log     *slog.Logger   // nil: none
}

// Refusal says why there are no terminals; the zero value: there are.
type Refusal struct {
	Status int // of HTTP
	Text   string
}

// API is the dialect. It is safe for concurrent use. Closing the sockets ends its terminals.
type API struct {
	options Options
	slots   chan struct{}
}

// New returns an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &API{options: o, slots: make(chan struct{}, most)}
}

// Routes adds /terminal/{sessionId} below r.
func (a *API) Routes(r gin.IRoutes) { r.GET("/terminal/:id", a.connect) }

// Streams returns the routes whose responses are long-lived: their durations say nothing about the portal.
func Streams() []string { return []string{"/terminal/:id"} }

// connect is GET /terminal/{sessionId}.
func (a *API) connect(c *gin.Context) {
	if why := a.options.Refusal(); why.Status != 0 {
		refuse(c, why.Status, why.Text)
		return
	}
	s, err := a.options.Host.Session(c.Request.Context(), wire.Param(c, "id"))
	if err != nil {
		status := http.StatusServiceUnavailable
		if fault.KindOf(err) == fault.NotFound {
			status = http.StatusNotFound
		}
		refuse(c, status, err.Error())
		return
	}
	size := sizeOf(c.Query("columns"), c.Query("rows"))
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
			a.serve(ctx, conn, s, size)
		default:
			_ = conn.Send([]byte(ending + "Too many terminals are open: close one first.")) // the client may be gone
		}
	})
}

func refuse(c *gin.Context, status int, text string) {
	c.Header("Cache-Control", "no-store")
	c.AbortWithStatusJSON(status, gin.H{"error": text})
}

func sizeOf(columns, rows string) terminal.Size {
	number := func(text string, usual int) int {
		if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= terminal.MaxSize {
			return n
		}
		return usual
	}
	return terminal.Size{Columns: number(columns, beginning), Rows: number(rows, 24)}
}

// serve runs a shell until it ends, the client leaves or the session is deleted.
func (a *API) serve(ctx context.Context, conn *socket.Conn, s *copilot.Session, size terminal.Size) {
	shell, err := terminal.Start(terminal.Options{Directory: s.Info().Directory, Environ: a.options.Environ, Size: size})
	if err != nil {
		_ = conn.Send([]byte(ending + err.Error())) // the client may be gone
		return
	}
	a.options.Log.Info("a terminal was opened", "session", s.ID(), "pid", shell.PID())
	ctx, cancel := context.WithCancel(ctx)
	run := &connection{conn: conn, shell: shell, unshown: make(chan struct{}, unshown), typed: make(chan []byte, untyped)}
	var work sync.WaitGroup
	work.Go(func() { defer cancel(); run.send(ctx) })
	work.Go(run.typeAll)
	deleted, forget := a.options.Host.WatchDeleted(s.ID())
	work.Go(func() {
		select {
		case <-deleted:
			cancel()
		case <-ctx.Done():
		}
	})
	run.receive(ctx)
	cancel()
	forget()
	shell.Close() // which ends reading and writing
	close(run.typed)
	work.Wait()
	a.options.Log.Info("a terminal was closed", "session", s.ID(), "pid", shell.PID())
}

// connection is a connection with its shell.
type connection struct {
	conn    *socket.Conn
	shell   *terminal.Terminal
	unshown chan struct{} // has one for each frame that the client has not confirmed
	typed   chan []byte
}

// send sends the output, and finally why it ended.
func (n *connection) send(ctx context.Context) {
	buffer, kept := make([]byte, piece), 0 // bytes of an incomplete character
	for {
		read, err := n.shell.Read(buffer[kept:])
		text := buffer[:kept+read]
		whole := text[:len(text)-incomplete(text)]
		if err != nil {
			whole = text
		}
		if len(whole) > 0 && !n.sendPiece(ctx, string(whole)) {
			return
		}
		kept = copy(buffer, text[len(whole):])
		if err != nil {
			break
		}
	}
	select {
	case <-n.shell.Ended():
		_ = n.conn.Send([]byte(ending + "The shell has ended (" + n.shell.Outcome() + ").")) // the client may be gone
	case <-ctx.Done():
	}
}

// sendPiece sends output when the client has shown enough of the earlier one. It returns false at the end of the connection.
func (n *connection) sendPiece(ctx context.Context, text string) bool {
	select {
	case n.unshown <- struct{}{}:
		return n.conn.Send([]byte(output+strings.ToValidUTF8(text, "\ufffd"))) == nil
	case <-ctx.Done():
		return false
	}
}

// incomplete returns the length of an incomplete character at the end of a text.
func incomplete(text []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if from := len(text) - back; utf8.RuneStart(text[from]) {
			if !utf8.FullRune(text[from:]) {
				return back
			}
			break
		}
	}
	return 0
}

// typeAll passes on what the user types.
func (n *connection) typeAll() {
	for text := range n.typed {
		_, _ = n.shell.Write(text) // fails after the end only
	}
}

// message is a message of the client. One of the fields is set.
type message struct {
	Input   string `json:"input"`   // what the user typed
	Columns int    `json:"columns"` // with Rows: the size
	Rows    int    `json:"rows"`
	Shown   int    `json:"shown"` // frames of output that are shown
}

// receive reads messages until the connection ends.
func (n *connection) receive(ctx context.Context) {
	for {
		frame, err := n.conn.Receive(ctx)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(frame, &m); err != nil {
			n.conn.Close(1003, "a message is not valid: "+err.Error())
			return
		}
		n.shell.Resize(terminal.Size{Columns: m.Columns, Rows: m.Rows})
		for range min(m.Shown, unshown) {
			select {
			case <-n.unshown:
			default:
			}
		}
		if m.Input == "" {
			continue
		}
		select {
		case n.typed <- []byte(m.Input):
		default: // no program reads it
		}
	}
}
