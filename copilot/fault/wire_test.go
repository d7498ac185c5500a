package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
)

func travel(t *testing.T, err error) error {
	t.Helper()
	data, failed := json.Marshal(fault.ToWire(err))
	require.NoError(t, failed)
	var w fault.Wire
	require.NoError(t, json.Unmarshal(data, &w))
	return w.Err()
}

func TestErrorsOfOtherProcessesAreTheSame(t *testing.T) {
	for _, err := range []error{
		fault.ErrBusy,
		fault.Errorf(fault.Invalid, "%w: %q", fault.ErrModelNotFound, "x"),
		fault.Errorf(fault.Unavailable, "%w: %w", fault.ErrCopyLeft, fault.ErrStopping),
		fmt.Errorf("slow: %w", context.DeadlineExceeded),
		errors.New("unexpected"),
	} {
		there := travel(t, err)
		assert.Equal(t, err.Error(), there.Error())
		assert.Equal(t, fault.KindOf(err), fault.KindOf(there))
		for _, e := range []error{fault.ErrBusy, fault.ErrModelNotFound, fault.ErrCopyLeft, fault.ErrStopping, fault.ErrSessionInUse} {
			assert.Equal(t, errors.Is(err, e), errors.Is(there, e), "%v is %v", err, e)
		}
	}
}

func TestEveryDistinctErrorReachesOtherProcesses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	require.NoError(t, err)
	wire, err := parser.ParseFile(token.NewFileSet(), "wire.go", nil, 0)
	require.NoError(t, err)
	listed := map[string]bool{}
	ast.Inspect(wire, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			listed[id.Name] = true
		}
		return true
	})
	for name := range file.Scope.Objects {
		if strings.HasPrefix(name, "Err") && name != "Error" && name != "Errorf" {
			assert.True(t, listed[name], "%s is not in distinct", name)
		}
	}
}
