package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestBeginIsOrderedRestIsConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 100
		var begun []string
		goOn := make(chan struct{})
		work := jsonrpc.Method{Begin: func(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
			begun = append(begun, string(r.Params))
			return func(context.Context) (any, error) {
				<-goOn
				return r.Params, nil
			}, nil
		}}
		w := connect(t.Context(), t, jsonrpc.Methods{"work": work}, jsonrpc.Options{Concurrent: 2, Waiting: requests - 3})
		for i := range requests {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"work","params":[%d]}`, i, i))
		}
		w.expect(`{"jsonrpc":"2.0","id":99,"error":{"code":-32603,"message":"Internal error","data":"too many requests are waiting; send fewer at a time"}}`)
		synctest.Wait()
		for i, params := range begun {
			assert.Equal(t, fmt.Sprintf("[%d]", i), params)
		}
		assert.Len(t, begun, requests-1, "a refused request was not begun")
		close(goOn)
		for range requests - 1 {
			w.receive()
		}
		w.cut()
	})
}

func TestFailedBeginIsRefused(t *testing.T) {
	methods := jsonrpc.Methods{
		"refuses": {Begin: func(context.Context, *jsonrpc.Request) (func(context.Context) (any, error), error) {
			return nil, jsonrpc.InvalidParams("no")
		}},
		"panics": {Begin: func(context.Context, *jsonrpc.Request) (func(context.Context) (any, error), error) {
			panic(errors.New("secret"))
		}},
	}
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, methods, jsonrpc.Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"refuses"}`)
		w.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":"no"}}`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"panics"}`)
		w.expect(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}`)
		w.cut()
	})
}
