package sdk

import (
	"encoding/json"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

func userInput(d *rpc.UserInputRequestedData) copilot.Question {
	return copilot.Question{
		ID: d.RequestID, Kind: copilot.AskInput, Call: text(d.ToolCallID),
		Text: d.Question, Choices: d.Choices,
		Freeform: d.AllowFreeform == nil || *d.AllowFreeform || len(d.Choices) == 0,
	}
}

// permission puts a request of the CLI under the domain's names.
func permission(d *rpc.PermissionRequestedData) copilot.Question {
	q := describe(d.PermissionRequest)
	q.ID, q.Kind = d.RequestID, copilot.AskPermission
	return q
}

func describe(request rpc.PermissionRequest) copilot.Question {
	switch r := request.(type) {
	case *rpc.PermissionRequestShell:
		return shell(r)
	case *rpc.PermissionRequestWrite:
		return copilot.Question{
			Names: []string{copilot.PermWrite}, Call: text(r.ToolCallID),
			Title: "Write " + r.FileName, Detail: r.Diff,
		}
	case *rpc.PermissionRequestRead:
		return copilot.Question{
			Names: []string{copilot.PermRead}, Call: text(r.ToolCallID),
			Title: "Read " + r.Path, Detail: r.Path, Path: canonical(r.Path, r.ResolvedPath),
		}
	case *rpc.PermissionRequestURL:
		return copilot.Question{
			Names: []string{copilot.PermFetch}, Call: text(r.ToolCallID),
			Title: "Fetch " + r.URL, Detail: r.URL,
		}
	case *rpc.PermissionRequestMCP:
		return copilot.Question{
			Names: []string{"mcp." + r.ServerName + "." + r.ToolName}, Call: text(r.ToolCallID),
			Title: "Use " + r.ToolTitle + " of " + r.ServerName, Detail: pretty(r.Args),
		}
	case *rpc.PermissionRequestCustomTool:
		return copilot.Question{
			Names: []string{r.ToolName}, Call: text(r.ToolCallID),
			Title: "Use " + r.ToolName, Detail: pretty(r.Args),
		}
	}
	// Memory, hooks, extensions, what is new: by the CLI's own name for it.
	return copilot.Question{
		Names: []string{string(request.Kind())},
		Title: "Allow " + string(request.Kind()), Detail: pretty(request),
	}
}

func shell(r *rpc.PermissionRequestShell) copilot.Question {
	segments := make([]string, 0, len(r.CommandSegments))
	for _, s := range r.CommandSegments {
		segments = append(segments, s.FullCommandText)
	}
	names, opaque := copilot.ShellNames(segments)
	title := r.Intention
	if title == "" {
		title = "Run a command"
	}
	return copilot.Question{Names: names, Opaque: opaque, Call: text(r.ToolCallID), Title: title, Detail: r.FullCommandText}
}

// canonical is the path as the CLI resolved it, if it did.
func canonical(path string, resolved *string) string {
	if resolved != nil && *resolved != "" {
		return *resolved
	}
	return path
}

func pretty(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil || v == nil {
		return ""
	}
	return string(b)
}
