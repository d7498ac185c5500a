package jsonrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestMethodOfATableLearnsItsConnection(t *testing.T) {
	t.Parallel()
	table := jsonrpc.Table[string]{"name": {
		Handle: func(connection string, _ context.Context, r *jsonrpc.Request) (any, error) {
			return connection + " " + r.Method, nil
		},
		InOrder: true,
	}}
	for _, connection := range []string{"first", "second"} {
		m, known := table.Of(connection).Find("name")
		require.True(t, known)
		assert.True(t, m.InOrder)
		result, err := m.Handle(t.Context(), &jsonrpc.Request{Method: "name"})
		require.NoError(t, err)
		assert.Equal(t, connection+" name", result)
	}
	_, known := table.Of("first").Find("other")
	assert.False(t, known)
}
