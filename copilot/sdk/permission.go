package sdk

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// permission puts a request of the CLI under the domain's names. Relative paths
// are taken to be in a directory.
func permission(d *rpc.PermissionRequestedData, directory string) copilot.Question {
	q := describe(d.PermissionRequest, directory)
	q.ID, q.Kind = d.RequestID, copilot.AskPermission
	return q
}

func describe(request rpc.PermissionRequest, directory string) copilot.Question {
	switch r := request.(type) {
	case *rpc.PermissionRequestShell:
		return shell(r)
	case *rpc.PermissionRequestWrite:
		return copilot.Question{
			Call: text(r.ToolCallID), Title: "Write " + r.FileName, Detail: r.Diff,
		}.With(file(copilot.PermWrite, directory, r.FileName))
	case *rpc.PermissionRequestRead:
		return copilot.Question{
			Call: text(r.ToolCallID), Title: "Read " + r.Path, Detail: r.Path,
		}.With(file(copilot.PermRead, directory, cmp.Or(text(r.ResolvedPath), r.Path)))
	case *rpc.PermissionRequestURL:
		return copilot.Question{
			Call: text(r.ToolCallID), Title: "Fetch " + r.URL, Detail: r.URL,
		}.With(copilot.Need{Name: copilot.PermFetch, Host: host(r.URL)})
	case *rpc.PermissionRequestMCP:
		return copilot.Question{
			Call: text(r.ToolCallID), Title: "Use " + cmp.Or(r.ToolTitle, mcpTool(r)) + " of " + r.ServerName, Detail: pretty(r.Args),
		}.With(copilot.Need{Name: "mcp." + r.ServerName + "." + mcpTool(r)})
	case *rpc.PermissionRequestCustomTool:
		return copilot.Question{
			Call: text(r.ToolCallID), Title: "Use " + r.ToolName, Detail: pretty(r.Args),
		}.With(copilot.Need{Name: r.ToolName})
	}
	// Memory, hooks, extensions, what is new: by the CLI's own name for it.
	kind := "something unknown"
	if request != nil && request.Kind() != "" {
		kind = string(request.Kind())
	}
	return copilot.Question{Title: "Allow " + kind, Detail: pretty(request)}.With(copilot.Need{Name: kind})
}

// file is the need to use a file. A path that names two files, as ".." behind a link
// is read in two ways, has no subject.
func file(name, directory, path string) copilot.Need {
	if path == "" {
		return copilot.Need{Name: name}
	}
	target := followed(directory, filepath.Clean(path))
	if slices.Contains(strings.Split(path, "/"), "..") && (len(path) > longest || stepwise(directory, path) != target) {
		return copilot.Need{Name: name}
	}
	return copilot.Need{Name: name, Path: target}
}

// stepwise follows the links of a path as the system does: ".." leaves the directory
// that a link leads to.
func stepwise(directory, path string) string {
	directory = followed(directory, "")
	if filepath.IsAbs(path) {
		directory = "/"
	}
	for element := range strings.SplitSeq(path, "/") {
		directory = followed(directory, element)
	}
	return directory
}

// host is whom an address names, "" if it cannot be read.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
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
