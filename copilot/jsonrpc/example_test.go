package jsonrpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The response precedes the events of the run.
func ExampleLines() {
	methods := jsonrpc.Methods{"run.start": {InOrder: true, Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		var params struct {
			Text string `json:"text"`
		}
		if err := r.Decode(&params); err != nil {
			return nil, err
		}
		r.After(func() {
			_ = r.Peer.Notify(ctx, "agent.event", map[string]string{"run_id": "1", "text": params.Text})
			r.Peer.Stop()
		})
		return map[string]string{"run_id": "1"}, nil
	}}}
	in, ui := io.Pipe()
	go fmt.Fprintln(ui, `{"jsonrpc":"2.0","id":"2","method":"run.start","params":{"text":"hello"}}`)

	out := &output{} // such as os.Stdout
	peer := jsonrpc.New(jsonrpc.NewLines(in, out, jsonrpc.LineOptions{}), methods, jsonrpc.Options{})
	fmt.Println(peer.Run(context.Background()))
	fmt.Print(out)
	// Output:
	// <nil>
	// {"jsonrpc":"2.0","id":"2","result":{"run_id":"1"}}
	// {"jsonrpc":"2.0","method":"agent.event","params":{"run_id":"1","text":"hello"}}
}

// Another package reads and writes the frames of a WebSocket. The server calls, and the page answers.
func ExampleFrames() {
	fromPage := make(chan []byte, 1)
	frames := jsonrpc.Frames{
		Receive: func() ([]byte, error) {
			if frame, open := <-fromPage; open {
				return frame, nil
			}
			return nil, io.EOF
		},
		Send: func(messages ...[]byte) error {
			fmt.Println(string(bytes.Join(messages, nil)))
			fromPage <- []byte(`{"jsonrpc":"2.0","id":"ui_1","result":{"ok":true}}`)
			return nil
		},
		Hangup: func() error { close(fromPage); return nil },
	}
	peer := jsonrpc.New(frames, jsonrpc.Methods{}, jsonrpc.Options{IDPrefix: "ui_"})
	go func() {
		var answer struct {
			OK bool `json:"ok"`
		}
		err := peer.Call(context.Background(), "ui.confirm.request", map[string]string{"title": "Run command?"}, &answer)
		fmt.Println(answer.OK, err)
		peer.Stop()
	}()
	fmt.Println(peer.Run(context.Background()))
	// Output:
	// {"jsonrpc":"2.0","id":"ui_1","method":"ui.confirm.request","params":{"title":"Run command?"}}
	// true <nil>
	// <nil>
}

func ExampleHTTP() {
	h := jsonrpc.NewHTTP(jsonrpc.Methods{"models.list": {Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		return map[string]any{"models": []string{"demo"}}, nil
	}}}, jsonrpc.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/rpc", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"models.list"}`)))
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"jsonrpc":"2.0","id":7,"result":{"models":["demo"]}}
}
