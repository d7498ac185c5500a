package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// arithmetic returns the methods of the examples.
func arithmetic() jsonrpc.Methods {
	nothing := handle(func(*jsonrpc.Request) (any, error) { return nil, errors.New("this error must not be sent") })
	return jsonrpc.Methods{
		"subtract": handle(subtract),
		"sum": handle(func(r *jsonrpc.Request) (any, error) {
			var all []int
			sum := 0
			err := r.Decode(&all)
			for _, n := range all {
				sum += n
			}
			return sum, err
		}),
		"get_data": handle(func(*jsonrpc.Request) (any, error) { return []any{"hello", 5}, nil }),
		"update":   nothing, "notify_hello": nothing, "notify_sum": nothing,
	}
}

func subtract(r *jsonrpc.Request) (any, error) {
	var named struct{ Minuend, Subtrahend int }
	if r.Params[0] == '{' {
		err := r.Decode(&named)
		return named.Minuend - named.Subtrahend, err
	}
	var listed [2]int
	err := r.Decode(&listed)
	return listed[0] - listed[1], err
}

var (
	data    = regexp.MustCompile(`,"data":"(\\.|[^"\\])*"`) // allowed by the specification but missing in its examples
	invalid = `{"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": null}`
	broken  = `{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}, "id": null}`
)

// TestExamplesOfTheSpecification has all examples of section 7.
func TestExamplesOfTheSpecification(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"positional parameters", `{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 1}`,
		},
		{
			"positional parameters in another order", `{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}`,
			`{"jsonrpc": "2.0", "result": -19, "id": 2}`,
		},
		{
			"named parameters", `{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 3}`,
		},
		{
			"named parameters in another order", `{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}`,
			`{"jsonrpc": "2.0", "result": 19, "id": 4}`,
		},
		{"a notification", `{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}`, ""},
		{"a notification without parameters", `{"jsonrpc": "2.0", "method": "foobar"}`, ""},
		{
			"a method that does not exist", `{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`,
			`{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "1"}`,
		},
		{"invalid JSON", `{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`, broken},
		{"an invalid request", `{"jsonrpc": "2.0", "method": 1, "params": "bar"}`, invalid},
		{"a batch of invalid JSON", `[
			{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
			{"jsonrpc": "2.0", "method"
		]`, broken},
		{"an empty batch", `[]`, invalid},
		{"an invalid batch that is not empty", `[1]`, `[` + invalid + `]`},
		{"an invalid batch", `[1,2,3]`, `[` + invalid + `,` + invalid + `,` + invalid + `]`},
		{"a batch", `[
			{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
			{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
			{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
			{"foo": "boo"},
			{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
			{"jsonrpc": "2.0", "method": "get_data", "id": "9"}
		]`, `[
			{"jsonrpc": "2.0", "result": 7, "id": "1"},
			{"jsonrpc": "2.0", "result": 19, "id": "2"},
			` + invalid + `,
			{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": "5"},
			{"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"}
		]`},
		{"a batch of notifications", `[
			{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
			{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
		]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := strings.ReplaceAll(tt.in, "\n", " ") + "\n"
			lines := converse(t, arithmetic(), jsonrpc.Options{}, jsonrpc.LineOptions{}, strings.NewReader(line))
			equal(t, tt.want, strings.Join(lines, "\n"))

			body := jsonrpc.NewHTTP(arithmetic(), jsonrpc.Options{}).Answer(t.Context(), []byte(tt.in))
			equal(t, tt.want, string(body))
		})
	}
}

// equal compares answers without the data of their errors.
func equal(t *testing.T, want, got string) {
	t.Helper()
	if want == "" {
		assert.Empty(t, got)
		return
	}
	require.True(t, json.Valid([]byte(got)), got)
	assert.JSONEq(t, want, data.ReplaceAllString(got, ""))
}
