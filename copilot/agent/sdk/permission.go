package sdk

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// permissionQuestion converts a permission request of the CLI to names of the domain. It resolves relative
// paths in a directory.
func permissionQuestion(d *rpc.PermissionRequestedData, directory string) event.Question {
	q, needs := describe(d.PermissionRequest)
	q.ID, q.Kind = d.RequestID, event.AskPermission
	q.SetNeeds(permission.Resolve(directory, needs)...)
	return q
}

func describe(request rpc.PermissionRequest) (event.Question, []permission.Need) {
	switch r := request.(type) {
	case *rpc.PermissionRequestShell:
		return shell(r)
	case *rpc.PermissionRequestWrite:
		return event.Question{Call: text(r.ToolCallID), Title: "Write " + r.FileName, Detail: r.Diff}, need(permission.Write, r.FileName)
	case *rpc.PermissionRequestRead:
		return event.Question{Call: text(r.ToolCallID), Title: "Read " + r.Path, Detail: r.Path},
			need(permission.Read, cmp.Or(text(r.ResolvedPath), r.Path))
	case *rpc.PermissionRequestURL:
		return event.Question{Call: text(r.ToolCallID), Title: "Fetch " + r.URL, Detail: r.URL}, need(permission.Fetch, r.URL)
	case *rpc.PermissionRequestMCP:
		return event.Question{
			Call: text(r.ToolCallID), Title: "Use " + cmp.Or(r.ToolTitle, mcpTool(r)) + " of " + r.ServerName, Detail: pretty(r.Args),
		}, need("mcp."+r.ServerName+"."+mcpTool(r), "")
	case *rpc.PermissionRequestCustomTool:
		return event.Question{Call: text(r.ToolCallID), Title: "Use " + r.ToolName, Detail: pretty(r.Args)}, need(r.ToolName, "")
	}
	// Memory, hooks, extensions and new kinds: use the CLI's own name.
	kind := "something unknown"
	if request != nil && request.Kind() != "" {
		kind = string(request.Kind())
	}
	return event.Question{Title: "Allow " + kind, Detail: pretty(request)}, need(kind, "")
}

func need(name, target string) []permission.Need {
	return []permission.Need{{Name: name, Target: target}}
}

// mcpTool returns the server's own name of a tool, which the CLI prefixes with its name.
func mcpTool(r *rpc.PermissionRequestMCP) string {
	return strings.TrimPrefix(r.ToolName, r.ServerName+"-")
}

// shell derives the needs of a command line from its segments and from the whole: the segments lack what
// follows a redirection.
func shell(r *rpc.PermissionRequestShell) (event.Question, []permission.Need) {
	segments := make([]string, 0, len(r.CommandSegments))
	for _, s := range r.CommandSegments {
		segments = append(segments, s.FullCommandText)
	}
	return event.Question{
		Call: text(r.ToolCallID), Title: cmp.Or(r.Intention, "Run a command"), Detail: r.FullCommandText,
	}, permission.LineNeeds(r.FullCommandText, segments...)
}

func pretty(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil || v == nil {
		return ""
	}
	return string(b)
}
