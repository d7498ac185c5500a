// Package ipc carries calls between the processes that share a data directory: HTTP on Unix sockets in a directory that only
// their user can enter. It knows no calls of its own.
package ipc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// ErrUnreachable reports that the call did not reach the process, which therefore did nothing.
var ErrUnreachable = errors.New("the process cannot be reached")

// Processes serves the calls of other processes, and calls them. Its methods may be called concurrently. The caller must
// close it.
type Processes struct {
	directory string
	name      string
	socket    string // path of its own socket
	calls     *http.ServeMux
	client    *http.Client
	server    *http.Server
	stop      context.CancelFunc // ends the calls of others
	hangUp    context.CancelFunc // ends the calls to others
	onHangUp  func(do func()) (stop func() bool)
	remote    Remote
	serving   sync.WaitGroup
}

// Remote carries calls to and from processes on other machines.
type Remote interface {
	// Call calls a process, and fails with [ErrUnreachable] if that did not reach it.
	Call(ctx context.Context, process, path string, body []byte) (status int, answer []byte, err error)

	// Others returns the names of these processes.
	Others() []string

	// Serve answers their calls until ctx ends.
	Serve(ctx context.Context, answer func(ctx context.Context, path string, body []byte) (status int, result []byte))
}

// Open starts to serve calls, under a name that no other process has, neither on this directory nor on another machine. Without remote
// there are no other machines.
func Open(directory, name string, remote Remote) (*Processes, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(directory, 0o700); err != nil { //nolint:gosec // a directory, which others cannot enter
		return nil, err
	}
	removeStale(directory)
	l, err := listen(directory, name)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	calling, hangUp := context.WithCancel(context.Background())
	calls := http.NewServeMux()
	p := &Processes{
		directory: directory, name: name, remote: remote, socket: filepath.Join(directory, name+suffix), stop: stop, calls: calls,
		hangUp: hangUp, onHangUp: func(do func()) func() bool { return context.AfterFunc(calling, do) },
		server: &http.Server{Handler: calls, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }},
	}
	p.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dial(ctx, directory, host)
		},
		DisableKeepAlives: true, // a connection that is kept may end under a call, and nobody knows whether that had an effect
	}}
	p.serving.Go(func() { _ = p.server.Serve(l) }) // it returns when it is closed
	if remote != nil {
		p.serving.Go(func() { remote.Serve(ctx, p.answer) })
	}
	return p, nil
}

// Handle answers the calls of a pattern of [http.ServeMux]. The request's context ends when the caller gives up.
func (p *Processes) Handle(pattern string, answer func(*http.Request) (result any, err error)) {
	p.calls.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		result, err := answer(r)
		send(w, result, err)
	})
}

// Params decodes the parameters of a call.
func Params(r *http.Request, params any) error {
	if err := json.NewDecoder(r.Body).Decode(params); err != nil {
		return fault.Errorf(fault.Internal, "the parameters of another process cannot be read: %w", err)
	}
	return nil
}

// closeTime is how long the calls of others may take to end when the process closes.
const closeTime = 200 * time.Millisecond

// HangUp ends the calls to others, and makes further ones fail.
func (p *Processes) HangUp() { p.hangUp() }

// Others returns the names of the other processes.
func (p *Processes) Others() []string {
	list := slices.DeleteFunc(names(p.directory), func(name string) bool { return name == p.name })
	if p.remote != nil {
		list = append(list, p.remote.Others()...)
	}
	return list
}

// Close ends all calls and serves no more.
func (p *Processes) Close() {
	p.hangUp()
	p.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = os.Remove(p.socket)
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close()
	}
	p.serving.Wait()
}

// Call calls a process by its name and decodes the result, unless that is nil. Errors: those of the other process,
// [ErrUnreachable] (also for a call to itself, which would be a loop), those of ctx, [fault.ErrStopping] after [Processes.HangUp], and kind [fault.Unavailable] if it is unknown whether the call had an effect.
func (p *Processes) Call(ctx context.Context, process, path string, params, result any) error {
	if process == p.name {
		return ErrUnreachable
	}
	callers := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.onHangUp(cancel)()
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	status, answer, err := p.post(ctx, process, path, body)
	switch {
	case err != nil:
		return unanswered(callers, ctx, err)
	case status == http.StatusNotFound: // an older version
		return ErrUnreachable
	}
	return Decode(status, answer, result)
}

// post calls a process of this machine or, if there is none of that name, of another one.
func (p *Processes) post(ctx context.Context, process, path string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+process+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	response, err := p.client.Do(request)
	switch {
	case errors.Is(err, ErrUnreachable) && p.remote != nil:
		return p.remote.Call(ctx, process, path, body)
	case err != nil:
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// answer answers a call from another machine.
func (p *Processes) answer(ctx context.Context, path string, body []byte) (status int, result []byte) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.name+path, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadRequest, nil
	}
	w := &memoryWriter{header: http.Header{}, status: http.StatusOK}
	p.calls.ServeHTTP(w, r)
	return w.status, w.body.Bytes()
}

// memoryWriter is an [http.ResponseWriter] that keeps the response.
type memoryWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryWriter) Header() http.Header         { return w.header }
func (w *memoryWriter) WriteHeader(status int)      { w.status = status }
func (w *memoryWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// unanswered returns the error of a call without an answer.
func unanswered(callers, ctx context.Context, err error) error {
	switch {
	case callers.Err() != nil:
		return callers.Err()
	case ctx.Err() != nil:
		return fault.ErrStopping
	case errors.Is(err, ErrUnreachable):
		return ErrUnreachable
	}
	return fault.Errorf(fault.Unavailable, "the process that holds the session ended before it answered: look at the session before you try again")
}

// Decode decodes the answer of a call: its result, unless that is nil, or its error.
func Decode(status int, answer []byte, result any) error {
	if status == http.StatusOK {
		if result == nil {
			return nil
		}
		return json.Unmarshal(answer, result)
	}
	var w fault.Wire
	if err := json.Unmarshal(answer, &w); err != nil {
		return err
	}
	return w.Err()
}

// send sends the result of a call, or its error.
func send(w http.ResponseWriter, result any, err error) {
	status := http.StatusOK
	if err != nil {
		status, result = http.StatusUnprocessableEntity, fault.ToWire(err)
	}
	data, failed := json.Marshal(result)
	if failed != nil {
		status = http.StatusUnprocessableEntity
		data, _ = json.Marshal(fault.ToWire(failed)) // strings always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller may be gone
}
