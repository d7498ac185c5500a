package mcp

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/fault"
)

// tool describes a tool to clients.
type tool struct {
	name, title, about string
	effect             effect
}

// effect says what a tool changes.
type effect int

const (
	reads effect = iota // nothing
	acts                // it starts or ends work, or answers a question
)

func (a *API) addTools() {
	a.addSessionTools()
	a.addRunTools()
	a.addJobTools()
	a.addOperationTools()
}

// add adds a tool that decodes its arguments as In and encodes its result as Out. An error becomes a result that says so.
func add[In, Out any](a *API, t tool, handle func(context.Context, call, In) (Out, error)) {
	a.tools = append(a.tools, t.name)
	about := &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.effect == reads},
		InputSchema: schemaOf[In](),
	}
	if reflect.TypeFor[Out]().Kind() == reflect.Struct {
		about.OutputSchema = schemaOf[Out]()
	}
	sdk.AddTool(a.server, about, func(ctx context.Context, r *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx, cancel := a.untilStop(ctx)
		defer cancel()
		out, err := handle(ctx, call{r}, in)
		if err != nil {
			var none Out
			return nil, none, a.toolError(t.name, err)
		}
		return nil, out, nil
	})
}

// schemaOf returns the schema of a type, as all models read it.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // the types are fixed; every test of the package would see it
	}
	portable(s)
	return s
}

// portable gives each part of a schema one type: optional values are absent, never null, and models exist that know no lists of types.
func portable(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if s.Items != nil {
		portable(s.Items)
	}
	for _, property := range s.Properties {
		portable(property)
	}
}

// recovered turns a panic of a handler into an error of its request.
func (a *API) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				a.options.Log.Error("a handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
				result, err = nil, a.protocolError(method, fault.Errorf(fault.Internal, "%v", fmt.Sprint(p)))
			}
		}()
		return next(ctx, method, r)
	}
}
