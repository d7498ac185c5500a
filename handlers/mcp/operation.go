package mcp

import (
	"context"

	"github.com/copilot-portal/portal/jobs/operation"
)

// The names of the tools for operations.
const (
	startOperation = "start_operation"
	readOperation  = "read_operation"
	stopOperation  = "stop_operation"
)

func (a *API) addOperationTools() {
	add(a, tool{startOperation, "Start an operation", "Starts work on one document: clarify (questions about it), analyze (findings), plan, or prompt (free instructions). " +
		"It waits until the result is there or waitSeconds have passed. The operation runs on when the call is cancelled.", acts}, a.startOperation)
	add(a, tool{readOperation, "Read an operation", "Waits until an operation has ended or waitSeconds have passed, and returns its result.", reads}, a.readOperation)
	add(a, tool{stopOperation, "Stop an operation", "Stops an operation.", acts}, a.stopOperation)
}

type operationArgs struct {
	Type        operation.Type `json:"type" jsonschema:"clarify, analyze, plan or prompt"`
	Document    string         `json:"document,omitempty" jsonschema:"the text to work on"`
	Path        string         `json:"path,omitempty" jsonschema:"or the path of its file, relative to the directory"`
	Prompt      string         `json:"prompt,omitempty" jsonschema:"instructions; required for the type prompt"`
	Feature     string         `json:"feature,omitempty" jsonschema:"what the document is about; one operation of a type runs for it at a time"`
	Model       string         `json:"model,omitempty" jsonschema:"id or name of the model; default: that of the portal"`
	Directory   string         `json:"directory,omitempty" jsonschema:"absolute path of the working directory; default: that of the portal"`
	WaitSeconds *float64       `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

// operationState is an operation as far as it has come.
type operationState struct {
	OperationID string           `json:"operationId"`
	Type        operation.Type   `json:"type"`
	Status      operation.Status `json:"status" jsonschema:"pending, running, completed, failed, cancelled or interrupted"`
	Progress    int              `json:"progress" jsonschema:"in percent"`
	Note        string           `json:"note,omitempty" jsonschema:"what it does now, or how it ended"`
	SessionID   string           `json:"sessionId,omitempty" jsonschema:"the session in which the agent works; wait and answer take it"`
	Result      any              `json:"result,omitempty" jsonschema:"the result of the type of operation"`
	Error       string           `json:"error,omitempty"`
}

func describeOperation(i operation.Info) operationState {
	s := operationState{OperationID: i.ID, Type: i.Type, Status: i.Status, Progress: i.Progress, Note: i.Note, SessionID: i.Session, Error: i.Error}
	if len(i.Result) > 0 {
		s.Result = i.Result
	}
	return s
}

func (a *API) startOperation(ctx context.Context, c call, in operationArgs) (operationState, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return operationState{}, err
	}
	if err := a.checkTop(ctx, c); err != nil {
		return operationState{}, err
	}
	o, err := a.options.Operations.Start(ctx, operation.Request{
		Type: in.Type, Document: in.Document, Path: in.Path, Prompt: in.Prompt, Feature: in.Feature, Model: in.Model, Directory: in.Directory, Client: Origin,
	})
	if err != nil {
		return operationState{}, err
	}
	return followOperation(ctx, c, o, -1, deadline)
}

type readOperationArgs struct {
	OperationID string   `json:"operationId"`
	WaitSeconds *float64 `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

func (a *API) readOperation(ctx context.Context, c call, in readOperationArgs) (operationState, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return operationState{}, err
	}
	o, err := a.options.Operations.Get(ctx, in.OperationID)
	if err != nil {
		return operationState{}, err
	}
	return followOperation(ctx, c, o, o.Last(), deadline)
}

// followOperation waits for the end of an operation and reports its messages with sequences above after.
func followOperation(ctx context.Context, c call, o *operation.Operation, after int, d deadline) (operationState, error) {
	if err := followWork(ctx, c, o.Reader(after), d, operationText); err != nil {
		return operationState{}, err
	}
	return describeOperation(o.Info()), nil
}

// operationText describes a message of an operation on one line; "" for messages that are no progress.
func operationText(m operation.Message) string {
	if m.Type == operation.Execution || m.Type == operation.Error {
		return oneLine(m.Content)
	}
	return ""
}

type stopOperationArgs struct {
	OperationID string `json:"operationId"`
}

func (a *API) stopOperation(ctx context.Context, _ call, in stopOperationArgs) (operationState, error) {
	o, err := a.options.Operations.Get(ctx, in.OperationID)
	if err != nil {
		return operationState{}, err
	}
	if err := o.Cancel(ctx); err != nil {
		return operationState{}, err
	}
	return describeOperation(o.Info()), nil
}
