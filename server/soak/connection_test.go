package soak_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/server/portaltest"
)

type document = map[string]any

// patience is the time limit of a request. The first one starts the Copilot CLI.
const patience = time.Minute

// request returns the body of a response with the status 200.
func (h *host) request(ctx context.Context, method, path, body string, header ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, cmp.Or(h.calls, h.url)+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%w: %s %s: %s", errRefused, method, path, resp.Status)
	}
	return text, err
}

func (h *host) get(ctx context.Context, path string, result any) error {
	text, err := h.request(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// post decodes the response unless result is nil.
func (h *host) post(ctx context.Context, path, body string, result any, header ...string) error {
	text, err := h.request(ctx, http.MethodPost, path, body, header...)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// connection carries JSON-RPC in both directions, for one goroutine.
type connection struct {
	write func(line []byte) error
	read  func() (line []byte, err error)
	close func()
}

func (c *connection) send(d document) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.write(line)
}

func (c *connection) receive() (r reply, err error) {
	line, err := c.read()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}

// ask sends a request and reads until its response.
func (c *connection) ask(method string, params document, result any) error {
	if err := c.send(document{"jsonrpc": "2.0", "id": method, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		r, err := c.receive()
		if err != nil {
			return err
		}
		if r.Method == "" && r.ID == method {
			return r.decode(result)
		}
	}
}

// dial opens a WebSocket, which closes with ctx.
func (h *host) dial(ctx context.Context, path string) (*connection, error) {
	conn, err := h.socket(ctx, path)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &connection{
		write: func(line []byte) error { return conn.WriteMessage(websocket.TextMessage, line) },
		read: func() ([]byte, error) {
			_, line, err := conn.ReadMessage()
			return line, err
		},
		close: func() {
			stop()
			_ = conn.Close()
		},
	}, nil
}

func (h *host) socket(ctx context.Context, path string) (*websocket.Conn, error) {
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(h.url, "http")+path, nil)
	if resp != nil {
		_ = resp.Body.Close()
	}
	return conn, err
}

// startBridge starts portal stdio --attach, which ends with ctx.
func startBridge(ctx context.Context, h *host) (*connection, error) {
	command := exec.Command(portaltest.Binary(h.t), "stdio", "--attach", h.url)
	command.Env, command.Dir = portaltest.Environ(h.home), h.home
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	lines := bufio.NewReader(out)
	return &connection{
		write: func(line []byte) error {
			_, err := in.Write(append(line, '\n'))
			return err
		},
		read: func() ([]byte, error) { return lines.ReadBytes('\n') },
		close: func() {
			stop()
			_ = in.Close()
			timer := time.AfterFunc(patience, func() { _ = command.Process.Signal(syscall.SIGQUIT) }) // prints where it hangs
			_, _ = io.Copy(io.Discard, out)
			_ = command.Wait() // with code 1 if the portal has ended
			if !timer.Stop() {
				h.t.Error(errors.New("portal stdio --attach did not end with its input"))
			}
		},
	}, nil
}
