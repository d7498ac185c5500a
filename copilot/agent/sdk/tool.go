package sdk

import (
	"context"
	"encoding/json"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// vendorTool declares a client tool. Without a handler, its calls wait for an answer from any client.
// SkipPermission stays off, because the policy decides.
func vendorTool(t event.Tool) vendor.Tool {
	tool := vendor.Tool{Name: t.Alias(), Description: t.Description}
	if t.Schema != nil {
		_ = json.Unmarshal(t.Schema, &tool.Parameters) // the domain has validated it
	}
	return tool
}

// checkTools rejects tools that would hide the CLI's own, which would make every turn fail.
func (a *Agent) checkTools(ctx context.Context, tools []event.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	own := map[string]bool{}
	err := a.call(ctx, callTimeout, func(ctx context.Context) error {
		list, err := a.client.RPC.Tools.List(ctx, &rpc.ToolsListRequest{})
		if err != nil {
			return err
		}
		for _, t := range list.Tools {
			own[t.Name] = true
		}
		return nil
	})
	if err != nil {
		return a.refused(err)
	}
	for _, t := range tools {
		if own[t.Alias()] {
			return fault.Errorf(fault.Invalid, "the agent has a tool %q of its own: give yours another name", t.Alias())
		}
	}
	return nil
}
