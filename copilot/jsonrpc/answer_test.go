package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestIDsAreEchoedUnchanged(t *testing.T) {
	for _, id := range []string{
		`0`, `-0`, `1`, `1e2`, `1E+2`, `0.1`, `1.0`, `-7`, `123456789012345678901234567890`, `0.30000000000000000001`, `1e400`,
		`""`, `"1"`, `"a b"`, `"\u0041"`, `"\/"`, `"\"\\"`, `"<&>"`, `"é"`, `"\u00e9"`, `"日本"`, `"😀"`, `"\ud83d\ude00"`, `"\ud800"`, "\"\u2028\"", `null`,
	} {
		t.Run(id, func(t *testing.T) {
			in := `{"id" : ` + id + ` ,"jsonrpc":"2.0","method":"echo"}` + "\n" + `{"id":` + id + `,"jsonrpc":"2.0","method":"no"}` + "\n"
			got := converse(t, jsonrpc.Methods{"echo": withReadLoop(handle(echo))}, jsonrpc.Options{}, jsonrpc.LineOptions{}, strings.NewReader(in))
			assert.Equal(t, []string{
				`{"jsonrpc":"2.0","id":` + id + `,"result":null}`,
				`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found","data":"there is no method \"no\""}}`,
			}, got)
		})
	}
}

func TestAnsweredMessages(t *testing.T) {
	result := func(s string) string { return `{"jsonrpc":"2.0","id":1,"result":` + s + `}` }
	refused := func(id, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request","data":%q}}`, id, text)
	}
	unparsed := func(text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":%q}}`, text)
	}
	tests := []struct{ name, in, want string }{
		{"parameters are kept unchanged", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1e2,"b":"\u0041<"}}`, result(`{"a":1e2,"b":"\u0041<"}`)},
		{"parameters that are null are absent", `{"jsonrpc":"2.0","id":1,"method":"echo","params":null}`, result("null")},
		{"other members are ignored", `{"jsonrpc":"2.0","id":1,"method":"echo","meta":{},"ID":2,"Method":3}`, result("null")},
		{"a name with escapes is the same name", `{"jsonrpc":"\u0032.0","id":1,"m\u0065thod":"\u0065cho"}`, result("null")},
		{"a byte order mark is ignored", "\uFEFF" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`, result("null")},
		{"a line may end with CR LF", `{"jsonrpc":"2.0","id":1,"method":"echo"}` + "\r", result("null")},
		{"the name of a method must match exactly", `{"jsonrpc":"2.0","id":1,"method":"Echo"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":"there is no method \"Echo\""}}`},
		{"the names of members must match exactly", `{"jsonrpc":"2.0","id":1,"Method":"echo"}`, refused("1", `"method" must be a string`)},
		{"without a version the id is echoed", `{"id":"x","method":"echo"}`, refused(`"x"`, `"jsonrpc" must be "2.0"`)},
		{"another version is refused", `{"jsonrpc":"1.0","id":1,"method":"echo"}`, refused("1", `"jsonrpc" must be "2.0"`)},
		{"a version that is a number is refused", `{"jsonrpc":2.0,"id":1,"method":"echo"}`, refused("1", `"jsonrpc" must be "2.0"`)},
		{"parameters that are a string are refused", `{"jsonrpc":"2.0","id":1,"method":"echo","params":"x"}`, refused("1", `"params" must be an object or an array`)},
		{"an id that is an object is refused", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, refused("null", "the id must be a string, a number or null")},
		{"an id that is a boolean is refused", `{"jsonrpc":"2.0","id":true,"method":"echo"}`, refused("null", "the id must be a string, a number or null")},
		{"a string is not a message", `"echo"`, refused("null", "a message is an object")},
		{"null is not a message", `null`, refused("null", `"jsonrpc" must be "2.0"`)},
		{"a batch within a batch is not a message", `[[]]`, "[" + refused("null", "a message is an object") + "]"},
		{"two messages on a line are invalid", `{} {}`, unparsed("invalid character '{' after top-level value")},
		{"plain text is invalid", `hello`, unparsed("invalid character 'h' looking for beginning of value")},
		{"half a message is invalid", `{"jsonrpc":"2.0",`, unparsed("unexpected end of JSON input")},
		{"invalid UTF-8 is rejected", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", unparsed("the message is not valid UTF-8")},
		{"too deep nesting is invalid", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), unparsed("invalid character '[' exceeded max depth")},
		{"an empty line is ignored", "", ""},
		{"a blank line is ignored", " \t\r", ""},
		{"a byte order mark alone is ignored", "\uFEFF", ""},
		{"an unexpected response is ignored", `{"jsonrpc":"2.0","id":7,"result":1}`, ""},
		{"an error about nothing is ignored", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, ""},
		{"so is a malformed error", `{"id":[],"error":7}`, ""},
		{"a batch of responses is ignored", `[{"jsonrpc":"2.0","id":7,"result":1},{"jsonrpc":"2.0","method":"unknown"}]`, ""},
		{"requests among responses are answered", `[{"jsonrpc":"2.0","id":7,"result":1},{"jsonrpc":"2.0","id":1,"method":"echo"}]`, "[" + result("null") + "]"},
		{"a batch may have the maximum size", `[1,2,3]`, strings.Join([]string{"[" + refused("null", "a message is an object"), refused("null", "a message is an object"), refused("null", "a message is an object") + "]"}, ",")},
		{"a larger batch is refused as a whole", `[1,2,3,4]`, refused("null", "the batch has 4 messages, 3 are allowed")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := `{"jsonrpc":"2.0","id":"next","method":"echo"}` + "\n"
			want := append(strings.Split(tt.want, "\n"), `{"jsonrpc":"2.0","id":"next","result":null}`)
			if tt.want == "" {
				want = want[1:]
			}
			got := converse(t, jsonrpc.Methods{"echo": withReadLoop(handle(echo))}, jsonrpc.Options{Batch: 3}, jsonrpc.LineOptions{}, strings.NewReader(tt.in+"\n"+next))
			assert.Equal(t, want, got)
		})
	}
}

func TestResultsAreEncoded(t *testing.T) {
	busy := &jsonrpc.Error{Code: -32001, Message: "runtime busy"}
	known := errors.New("an error that the dialect knows")
	tests := []struct {
		name string
		f    func(*jsonrpc.Request) (any, error)
		want string
		log  string
	}{
		{"no result is null", func(*jsonrpc.Request) (any, error) { return nil, nil }, `"result":null`, ""},
		{"a string is not escaped for HTML", func(*jsonrpc.Request) (any, error) { return "<&>\u2028é", nil }, `"result":"<&>\u2028é"`, ""},
		{"encoded JSON is put on one line", func(*jsonrpc.Request) (any, error) { return json.RawMessage("{\n\"a\" : 1e2}"), nil }, `"result":{"a":1e2}`, ""},
		{"invalid UTF-8 is replaced", func(*jsonrpc.Request) (any, error) { return json.RawMessage("\"\xff\""), nil }, `"result":"` + "\uFFFD" + `"`, ""},
		{"a result that cannot be encoded is an internal error", func(*jsonrpc.Request) (any, error) { return func() {}, nil }, `"error":{"code":-32603,"message":"Internal error"}`, "unsupported type: func()"},
		{"invalid encoded JSON is an internal error", func(*jsonrpc.Request) (any, error) { return json.RawMessage("{"), nil }, `"error":{"code":-32603,"message":"Internal error"}`, "unexpected end of JSON input"},
		{"an error is sent unchanged", func(*jsonrpc.Request) (any, error) { return nil, busy }, `"error":{"code":-32001,"message":"runtime busy"}`, ""},
		{"so does a wrapped one", func(*jsonrpc.Request) (any, error) { return nil, fmt.Errorf("run: %w", busy) }, `"error":{"code":-32001,"message":"runtime busy"}`, ""},
		{"the data of an error may be anything", func(*jsonrpc.Request) (any, error) { return nil, &jsonrpc.Error{Data: []int{1}} }, `"error":{"code":0,"message":"","data":[1]}`, ""},
		{"data that cannot be encoded is omitted", func(*jsonrpc.Request) (any, error) { return nil, &jsonrpc.Error{Code: 5, Data: func() {}} }, `"error":{"code":5,"message":""}`, ""},
		{"an error that the dialect knows is translated", func(*jsonrpc.Request) (any, error) { return nil, known }, `"error":{"code":-32004,"message":"Rate Limited","data":"later"}`, ""},
		{"any other is internal and logged", func(*jsonrpc.Request) (any, error) { return nil, errors.New("disk error") }, `"error":{"code":-32603,"message":"Internal error"}`, "disk error"},
		{"so is a nil *Error", func(*jsonrpc.Request) (any, error) { return nil, (*jsonrpc.Error)(nil) }, `"error":{"code":-32603,"message":"Internal error"}`, "a request failed"},
		{"so is a panic", func(*jsonrpc.Request) (any, error) { panic("oh no") }, `"error":{"code":-32603,"message":"Internal error"}`, "oh no"},
		{"so is a panic while encoding", func(*jsonrpc.Request) (any, error) { return panicking{}, nil }, `"error":{"code":-32603,"message":"Internal error"}`, "wild"},
	}
	for _, tt := range tests {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in order: %v", tt.name, first), func(t *testing.T) {
				log := &bytes.Buffer{}
				method := handle(tt.f)
				method.InOrder = first
				options := jsonrpc.Options{Log: slog.New(slog.NewTextHandler(log, nil)), Fault: func(err error) *jsonrpc.Error {
					if errors.Is(err, known) {
						return jsonrpc.Errorf(-32004, "Rate Limited", "later")
					}
					return nil
				}}
				in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
				got := converse(t, jsonrpc.Methods{"m": method}, options, jsonrpc.LineOptions{}, in)
				assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,` + tt.want + `}`}, got)
				assert.Contains(t, log.String(), tt.log)
				assert.Equal(t, tt.log == "", log.Len() == 0, log)
			})
		}
	}
}

// panicking panics when it is encoded.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("wild") }

func TestFailedNotificationIsOnlyLogged(t *testing.T) {
	log := &bytes.Buffer{}
	options := jsonrpc.Options{Log: slog.New(slog.NewTextHandler(log, nil))}
	methods := jsonrpc.Methods{"m": handle(func(*jsonrpc.Request) (any, error) { panic("oh no") })}
	assert.Empty(t, converse(t, methods, options, jsonrpc.LineOptions{}, strings.NewReader(`{"jsonrpc":"2.0","method":"m"}`)))
	assert.Contains(t, log.String(), "oh no")
}

func TestCallOnlyPeerLogsGarbage(t *testing.T) {
	log := &bytes.Buffer{}
	options := jsonrpc.Options{IgnoreGarbage: true, Log: slog.New(slog.NewTextHandler(log, nil))}
	in := "Starting ...\n17\n" + `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	got := converse(t, jsonrpc.Methods{"echo": handle(echo)}, options, jsonrpc.LineOptions{}, strings.NewReader(in))
	assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":null}`}, got)
	assert.Contains(t, log.String(), "message=\"Starting ...")
	assert.Contains(t, log.String(), "message=\"17")
}
