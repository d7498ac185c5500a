package cli

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/spec"
)

// Error codes beyond those of JSON-RPC (spec/contracts/cli-protocol.md, "Error Codes").
const (
	codeGeneration    = -32000
	codeCustomization = -32001
	codeSpec          = -32002
	codeTooLarge      = -32003
	codeBusy          = -32004
)

// rpcError converts an error to a code of spec/contracts/cli-protocol.md, "Error Codes". Apps show only the message, so it says
// what to do. It returns nil for an internal error, which must not be shown.
func rpcError(err error) *jsonrpc.Error {
	if faults, ok := errors.AsType[spec.Faults](err); ok {
		return &jsonrpc.Error{Code: codeSpec, Message: "Spec Invalid: " + faults[0].Error(), Data: pathsOf(faults)}
	}
	var known *fault.Error
	switch {
	case errors.Is(err, context.Canceled):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Internal Error: the request was cancelled"}
	case !errors.As(err, &known):
		return nil
	}
	for _, row := range []struct {
		of   error
		code int
		name string
	}{
		{studio.ErrTooLarge, codeTooLarge, "Context Too Large"},
		{studio.ErrBusy, codeBusy, "Rate Limited"},
		{studio.ErrGeneration, codeGeneration, "Generation Failed"},
		{studio.ErrCustomization, codeCustomization, "Customization Failed"},
	} {
		if errors.Is(err, row.of) {
			return &jsonrpc.Error{Code: row.code, Message: row.name + ": " + known.Text}
		}
	}
	switch known.Kind { //nolint:exhaustive // the other kinds have no code of their own
	case fault.Invalid:
		return invalidParams("%s", known.Text)
	case fault.Busy:
		return &jsonrpc.Error{Code: codeBusy, Message: "Rate Limited: " + known.Text}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Internal Error: " + known.Text}
}

// faultError is rpcError for carriers with another table; nil stays nil.
func faultError(err error) error {
	if err == nil {
		return nil
	}
	if f := rpcError(err); f != nil {
		return f
	}
	return err
}

func busy() *jsonrpc.Error { return rpcError(studio.ErrBusy) }

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid Params", format, args...).Explained()
}

// decode reads parameters. The message of its error contains the details.
func decode(r *jsonrpc.Request, into any) error {
	err := r.Decode(into)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return invalidParams("%v", e.Data)
	}
	return err
}

type specFault struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func pathsOf(faults spec.Faults) map[string][]specFault {
	var list []specFault
	for _, f := range faults {
		list = append(list, specFault{f.Path, f.Line, f.Text})
	}
	return map[string][]specFault{"faults": list}
}
