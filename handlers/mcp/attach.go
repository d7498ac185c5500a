package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Remote is a running portal to which a client on streams is attached.
type Remote struct {
	URL       string // of its route of this protocol
	Token     string // "" if it needs none
	Depth     int    // number of agents above the client, see [DepthVariable]
	Transport http.RoundTripper
	// Explain says why a request failed, for users: it got a response that is none of this protocol, or else err.
	Explain func(ctx context.Context, resp *http.Response, err error) error
}

// lastAnswers is how long the portal may take to answer the last requests, as for a bridge.
const lastAnswers = 32 * time.Second

// Attach connects one client on streams, with one message per line, to a running portal, until the input ends and every request is
// answered, or ctx is done. It closes in and out. Calls that are not answered 32 s after the end of the input are dropped; their work goes
// on. Errors are meant for users.
func Attach(ctx context.Context, r Remote, in io.ReadCloser, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	local, err := newLineTransport(in, out, func() { time.AfterFunc(lastAnswers, cancel) }).Connect(ctx)
	if err != nil {
		return err
	}
	defer local.Close() //nolint:errcheck // its client sees the end
	to := &sender{Remote: r}
	client := &http.Client{Transport: to}
	remote, err := (&sdk.StreamableClientTransport{Endpoint: r.URL, HTTPClient: client, DisableStandaloneSSE: true}).Connect(ctx)
	if err != nil {
		return err
	}
	defer remote.Close() //nolint:errcheck // the portal forgets the connection by itself, too
	running, end := context.WithCancelCause(ctx)
	go func() { end(send(running, local, remote, end)) }()
	go func() { end(pass(running, remote, local)) }()
	<-running.Done()
	err = context.Cause(running)
	own, isOwn := errors.AsType[clientError](err)
	switch fault := to.fault.Load(); {
	case err == context.Canceled || ctx.Err() != nil: //nolint:errorlint // the end of the input is no error, unlike a canceled call
		return nil
	case isOwn:
		return own
	case fault != nil:
		return *fault
	}
	return fmt.Errorf("the portal at %s cannot be used: %w", r.URL, err)
}

// clientError is an error of the client's streams.
type clientError struct{ error }

// sender adds what a portal wants to know to each request. It keeps the reason of the first that failed, because the SDK wraps it in words that
// users do not understand, or drops it.
type sender struct {
	Remote

	fault atomic.Pointer[error]
}

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if s.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.Token)
	}
	r.Header.Set(DepthHeader, strconv.Itoa(s.Depth))
	resp, err := s.Transport.RoundTrip(r)
	if err == nil && isAnswer(resp, r.Header.Get(sessionHeader) == "") {
		return resp, nil
	}
	err = s.Explain(r.Context(), resp, err)
	if resp != nil {
		_ = resp.Body.Close() // it has been read
	}
	if r.Context().Err() == nil {
		s.fault.CompareAndSwap(nil, &err)
	}
	return nil, err
}

// sessionHeader is the header of all requests of this protocol but the first.
const sessionHeader = "Mcp-Session-Id"

// isAnswer reports whether a response is one of this protocol, and not of the portal's guard or of another program. After the first
// one, the protocol has errors, which are text.
func isAnswer(r *http.Response, first bool) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" if it is invalid
	if first {
		return r.StatusCode == http.StatusOK && (kind == jsonText || kind == "text/event-stream")
	}
	return r.StatusCode < http.StatusMultipleChoices || r.StatusCode >= http.StatusBadRequest && kind != jsonText
}

// send passes messages of the client on, each request on a goroutine, because the portal may answer its first byte late. It returns nil at the
// end of the input, and calls end for requests that cannot be sent.
func send(ctx context.Context, from, to sdk.Connection, end func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	for {
		m, err := from.Read(ctx)
		switch call, isCall := m.(*jsonrpc.Request); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return clientError{fmt.Errorf("cannot read from the MCP client: %w", err)}
		case isCall && call.IsCall() && call.Method != "initialize":
			calls.Go(func() {
				if err := to.Write(ctx, m); err != nil {
					end(err)
				}
			})
		default:
			if err := to.Write(ctx, m); err != nil {
				return err
			}
		}
	}
}

// pass passes messages of the portal on until one side ends.
func pass(ctx context.Context, from, to sdk.Connection) error {
	for {
		m, err := from.Read(ctx)
		if err != nil {
			return err
		}
		if err := to.Write(ctx, m); err != nil {
			return clientError{fmt.Errorf("cannot write to the MCP client: %w", err)}
		}
	}
}
