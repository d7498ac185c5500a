package jsonrpc_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestSingleMessagesAreReadAndOthersAnswered(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"a"} `, `x`, ``, `[]`, `[{"jsonrpc":"2.0","id":2,"method":"b"}]`, `{"jsonrpc":"2.0","id":3}`,
		`{"jsonrpc":"2.0","id":4,"result":null}{}`, strings.Repeat("x", 101), `{"jsonrpc":"2.0","id":null,"error":{}}`,
	}, "\n")
	out := &output{}
	l := jsonrpc.NewLines(io.NopCloser(strings.NewReader(in)), out, jsonrpc.LineOptions{Max: 100})
	var got []string
	for message, err := jsonrpc.ReadSingle(l); !errors.Is(err, io.EOF); message, err = jsonrpc.ReadSingle(l) {
		require.NoError(t, err)
		got = append(got, string(message))
	}
	assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":null,"error":{}}`}, got)
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"invalid character 'x' looking for beginning of value"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":"the batch is empty"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":"the batch has 1 messages, 0 are allowed"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Invalid Request","data":"\"method\" must be a string"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"invalid character '{' after top-level value"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is too long: a line may have 100 bytes"}}`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}

func TestUnansweredMessageIsAnError(t *testing.T) {
	l := jsonrpc.NewLines(io.NopCloser(strings.NewReader("x\n")), &full{}, jsonrpc.LineOptions{})
	_, err := jsonrpc.ReadSingle(l)
	require.ErrorIs(t, err, errFull)
}
