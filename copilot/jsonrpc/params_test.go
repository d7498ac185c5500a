package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestDecodingParameters(t *testing.T) {
	type options struct {
		Layout     string     `json:"layout"`
		Pagination *bool      `json:"pagination"`
		Since      *time.Time `json:"since"`
	}
	type params struct {
		Limit   int               `json:"limit"`
		Count   uint8             `json:"count"`
		Ratio   float64           `json:"ratio"`
		Names   []string          `json:"names"`
		Rules   map[string]string `json:"rules"`
		Options options           `json:"options"`
		Never   chan int          `json:"never"`
	}
	tests := []struct{ name, in, want string }{
		{"no parameters leave everything unchanged", ``, ""},
		{"unknown members are allowed", `{"limit":3,"new":{"a":[]}}`, ""},
		{"null leaves a member unchanged", `{"limit":null}`, ""},
		{"a string for a number", `{"limit":"3"}`, `"limit" must be a whole number, not a string`},
		{"a fraction", `{"limit":1.5}`, `"limit" must be a whole number, not number 1.5`},
		{"a number that is too large", `{"count":300}`, `"count" must be a whole number from 0 on, not number 300`},
		{"a boolean for a number", `{"ratio":true}`, `"ratio" must be a number, not a boolean`},
		{"an object for an array", `{"names":{}}`, `"names" must be an array, not an object`},
		{"a wrong element of an array", `{"names":["a",2]}`, `"names" must be a string, not a number`},
		{"an array for an object", `{"rules":[]}`, `"rules" must be an object, not an array`},
		{"a member of a member", `{"options":{"pagination":"yes"}}`, `"options.pagination" must be a boolean, not a string`},
		{"a member that cannot be decoded", `{"never":1}`, `"never" must be chan int, not a number`},
		{"an invalid time", `{"options":{"since":"today"}}`, `parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"`},
		{"an array for the parameters", `[1]`, `params must be an object, not an array`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &jsonrpc.Request{Params: json.RawMessage(tt.in)}
			if tt.in == "" {
				r.Params = nil
			}
			p := params{Limit: 3}
			err := r.Decode(&p)
			if tt.want == "" {
				require.NoError(t, err)
				assert.Equal(t, params{Limit: 3}, p)
				return
			}
			assert.Equal(t, &jsonrpc.Error{Code: -32602, Message: "Invalid params", Data: tt.want}, err)
			assert.EqualError(t, err, "Invalid params (-32602): "+tt.want)
		})
	}
}

func TestMessagesExplainErrors(t *testing.T) {
	in := strings.NewReader("x\n" + `{"jsonrpc":"2.0","id":1,"method":"unknown"}`)
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: invalid character 'x' looking for beginning of value","data":"invalid character 'x' looking for beginning of value"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: there is no method \"unknown\"","data":"there is no method \"unknown\""}}`,
	}, converse(t, nil, jsonrpc.Options{Explain: true}, jsonrpc.LineOptions{}, in))
}
