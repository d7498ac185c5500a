package sdk

import (
	"cmp"
	"context"
	"errors"
	"slices"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Answer sends the answer to a question to the CLI.
func (c *conversation) Answer(ctx context.Context, q event.Question, a event.Answer) error {
	select {
	case <-c.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.session == nil { // it could not be opened
		return errGone
	}
	defer c.releaseHandler(question{q.Kind, q.Text})
	q.ID = c.asked(q.ID)
	return c.agent.withTimeout(ctx, func() error { return c.answer(ctx, q, a) })
}

// asked returns the id under which the CLI currently asks a question.
func (c *conversation) asked(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending.vendorID(id)
}

func (c *conversation) answer(ctx context.Context, q event.Question, a event.Answer) (err error) {
	ui := c.session.RPC.UI
	switch q.Kind {
	case event.AskInput:
		_, err = ui.HandlePendingUserInput(ctx, &rpc.UIHandlePendingUserInputRequest{
			RequestID: q.ID,
			Response:  input(q, a),
		})
	case event.AskForm, event.AskSignIn:
		_, err = ui.HandlePendingElicitation(ctx, &rpc.UIHandlePendingElicitationRequest{RequestID: q.ID, Result: elicited(a)})
	case event.AskPlan:
		_, err = ui.HandlePendingExitPlanMode(ctx, &rpc.UIHandlePendingExitPlanModeRequest{RequestID: q.ID, Response: planned(q, a)})
	case event.AskTool:
		var result *rpc.HandlePendingToolCallResult
		if result, err = c.session.RPC.Tools.HandlePendingToolCall(ctx, toolResult(q, a)); err == nil && !result.Success {
			err = c.checkStillWorking(ctx, q)
		}
	case event.AskPermission:
		var result *rpc.PermissionRequestResult
		if result, err = c.permit(ctx, q, a); err == nil && !result.Success {
			err = c.checkStillWorking(ctx, q)
		}
	default:
		err = fault.Errorf(fault.Internal, "a question of the kind %q cannot be answered", q.Kind)
	}
	return err
}

// input returns the user's answer. The CLI cannot express that a user declines: that becomes an ordinary
// answer, which the model sees.
func input(q event.Question, a event.Answer) rpc.UIUserInputResponse {
	if a.Text == "" && a.Reason != "" {
		return rpc.UIUserInputResponse{Answer: "The question was not answered: " + a.Reason, WasFreeform: true}
	}
	return rpc.UIUserInputResponse{Answer: a.Text, WasFreeform: !slices.Contains(q.Choices, a.Text)}
}

func (c *conversation) permit(ctx context.Context, q event.Question, a event.Answer) (*rpc.PermissionRequestResult, error) {
	return c.session.RPC.Permissions.HandlePendingPermissionRequest(ctx, &rpc.PermissionDecisionRequest{RequestID: q.ID, Result: decision(a)})
}

// decision always applies once: the session's policy remembers answers, for every agent. A refusal always has
// a text: without one the CLI gives up the whole turn.
func decision(a event.Answer) rpc.PermissionDecision {
	if a.Approved {
		return &rpc.PermissionDecisionApproveOnce{}
	}
	return &rpc.PermissionDecisionReject{Feedback: feedback(a, "The user refused it.")}
}

func feedback(a event.Answer, usual string) *string {
	return vendor.String(cmp.Or(a.Reason, usual))
}

func elicited(a event.Answer) rpc.UIElicitationResponse {
	if !a.Approved {
		return rpc.UIElicitationResponse{Action: rpc.UIElicitationResponseActionDecline}
	}
	content := map[string]rpc.UIElicitationFieldValue{}
	for name, value := range a.Fields {
		switch v := value.(type) {
		case string:
			content[name] = rpc.UIElicitationStringValue(v)
		case float64:
			content[name] = rpc.UIElicitationNumberValue(v)
		case bool:
			content[name] = rpc.UIElicitationBooleanValue(v)
		case []string:
			content[name] = rpc.UIElicitationStringArrayValue(v)
		}
	}
	return rpc.UIElicitationResponse{Action: rpc.UIElicitationResponseActionAccept, Content: content}
}

func planned(q event.Question, a event.Answer) rpc.UIExitPlanModeResponse {
	if !a.Approved {
		return rpc.UIExitPlanModeResponse{Feedback: feedback(a, "The user wants another plan.")}
	}
	response := rpc.UIExitPlanModeResponse{Approved: true}
	way := a.Text
	if way == "" && len(q.Choices) > 0 {
		way = q.Choices[0]
	}
	if way != "" {
		action := rpc.UIExitPlanModeAction(way)
		response.SelectedAction = &action
	}
	return response
}

// toolResult returns the result of a tool call. A failure is part of it, because the model does not see the
// request's own error.
func toolResult(q event.Question, a event.Answer) *rpc.HandlePendingToolCallRequest {
	result := rpc.ExternalToolTextResultForLlm{TextResultForLlm: a.Text, ResultType: vendor.String("success")}
	if a.Failed {
		why := feedback(a, "The tool failed.")
		result = rpc.ExternalToolTextResultForLlm{TextResultForLlm: *why, ResultType: vendor.String("failure"), Error: why}
	}
	return &rpc.HandlePendingToolCallRequest{RequestID: q.ID, Result: result}
}

// question is the question as the SDK passes it to a handler.
type question struct {
	kind event.QuestionKind
	text string
}

// The SDK's handlers of questions. Answers are sent with the question's id, which handlers do not get, so
// handlers only wait until they are no longer needed: their results come too late to count.

func (c *conversation) input(r vendor.UserInputRequest, _ vendor.UserInputInvocation) (vendor.UserInputResponse, error) {
	return vendor.UserInputResponse{}, c.parkHandler(question{event.AskInput, r.Question})
}

func (c *conversation) elicitation(r vendor.ElicitationContext) (vendor.ElicitationResult, error) {
	kind := event.AskForm
	if r.URL != nil {
		kind = event.AskSignIn
	}
	return vendor.ElicitationResult{}, c.parkHandler(question{kind, r.Message})
}

func (c *conversation) exitPlan(r vendor.ExitPlanModeRequest, _ vendor.ExitPlanModeInvocation) (vendor.ExitPlanModeResult, error) {
	return vendor.ExitPlanModeResult{}, c.parkHandler(question{event.AskPlan, cmp.Or(r.PlanContent, r.Summary)})
}

// errGone is the error that handlers return.
var errGone = errors.New("the question was answered or withdrawn")

func (c *conversation) parkHandler(q question) error {
	free := make(chan struct{})
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errGone
	}
	c.parked[q] = append(c.parked[q], free)
	c.mu.Unlock()
	select {
	case <-free:
	case <-c.agent.done:
	}
	return errGone
}

func (c *conversation) releaseHandler(q question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.parked[q]
	if len(waiting) == 0 {
		return
	}
	close(waiting[0])
	c.parked[q] = waiting[1:]
	if len(waiting) == 1 {
		delete(c.parked, q)
	}
}

func (c *conversation) releaseHandlers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freeHandlers()
}

// freeHandlers releases all handlers. The caller must hold the lock.
func (c *conversation) freeHandlers() {
	for _, waiting := range c.parked {
		for _, free := range waiting {
			close(free)
		}
	}
	clear(c.parked)
}
