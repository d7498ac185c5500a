package sdk

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// permission puts a request of the CLI under the domain's names. Relative paths
// are taken to be in a directory.
func permission(d *rpc.PermissionRequestedData, directory string) copilot.Question {
	q := describe(d.PermissionRequest)
	q.ID, q.Kind = d.RequestID, copilot.AskPermission
	if q.Path != "" {
		q.Path = followed(directory, q.Path)
	}
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
			Title: "Read " + r.Path, Detail: r.Path, Path: cmp.Or(text(r.ResolvedPath), r.Path),
		}
	case *rpc.PermissionRequestURL:
		return copilot.Question{
			Names: []string{copilot.PermFetch}, Call: text(r.ToolCallID),
			Title: "Fetch " + r.URL, Detail: r.URL,
		}
	case *rpc.PermissionRequestMCP:
		return copilot.Question{
			Names: []string{"mcp." + r.ServerName + "." + mcpTool(r)}, Call: text(r.ToolCallID),
			Title: "Use " + cmp.Or(r.ToolTitle, mcpTool(r)) + " of " + r.ServerName, Detail: pretty(r.Args),
		}
	case *rpc.PermissionRequestCustomTool:
		return copilot.Question{
			Names: []string{r.ToolName}, Call: text(r.ToolCallID),
			Title: "Use " + r.ToolName, Detail: pretty(r.Args),
		}
	}
	// Memory, hooks, extensions, what is new: by the CLI's own name for it.
	kind := "something unknown"
	if request != nil && request.Kind() != "" {
		kind = string(request.Kind())
	}
	return copilot.Question{Names: []string{kind}, Title: "Allow " + kind, Detail: pretty(request)}
}

// mcpTool is the server's own name of a tool, which the CLI puts its name before.
func mcpTool(r *rpc.PermissionRequestMCP) string {
	return strings.TrimPrefix(r.ToolName, r.ServerName+"-")
}

// shell names what a command line does by its segments and as a whole: the
// segments lack what stands behind a redirection.
func shell(r *rpc.PermissionRequestShell) copilot.Question {
	segments := make([]string, 0, len(r.CommandSegments)+1)
	for _, s := range r.CommandSegments {
		segments = append(segments, s.FullCommandText)
	}
	names, opaque := copilot.ShellNames(append(segments, r.FullCommandText))
	return copilot.Question{
		Names: names, Opaque: opaque, Call: text(r.ToolCallID),
		Title: cmp.Or(r.Intention, "Run a command"), Detail: r.FullCommandText,
	}
}

// longest is how long a path can be that exists, in bytes.
const longest = 4096

// followed is a path with its links followed, as far as it exists. The CLI does
// not always do that, and a link in the working directory may lead out of it.
func followed(directory, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(directory, path)
	}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return target
	case filepath.Dir(path) == path, len(path) > longest:
		return path
	}
	return filepath.Join(followed(directory, filepath.Dir(path)), filepath.Base(path))
}

func pretty(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil || v == nil {
		return ""
	}
	return string(b)
}
