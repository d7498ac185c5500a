package jsonrpc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestNonObjectsBecomeObjects(t *testing.T) {
	for given, want := range map[string]string{
		``: `{}`, `{"a":1}`: `{"a":1}`, `[1]`: `{"value":[1]}`, `null`: `{"value":null}`, `no json`: `{"value":"no json"}`,
	} {
		got, err := json.Marshal(jsonrpc.Object(json.RawMessage(given)))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), given)
	}
}
