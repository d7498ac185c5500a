package operation

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
)

// toolAction describes a tool for people.
type toolAction struct {
	past, present, progressive string   // "Ran", "run", "running"
	keys                       []string // arguments that name the object; the first one present is used
	object                     string   // used if none is present
	code                       bool     // the object is code, not prose
}

// toolActionOf returns the description of a tool. It merges the names that different agents use. The page
// uses the same words.
func toolActionOf(tool string) toolAction {
	path := []string{"path", "file_path", "filePath", "file"}
	switch tool {
	case "bash", "shell", "sh", "powershell", "run_command", "run_in_terminal":
		return toolAction{"Ran", "run", "running", []string{"command", "script"}, "a command", true}
	case "read_bash", "read_powershell":
		return toolAction{"Waited for", "wait for", "waiting for", nil, "a command", false}
	case "write_bash", "write_powershell":
		return toolAction{"Wrote to", "write to", "writing to", nil, "a command", false}
	case "stop_bash", "stop_powershell":
		return toolAction{"Stopped", "stop", "stopping", nil, "a command", false}
	case "view", "read", "read_file", "open_file":
		return toolAction{"Read", "read", "reading", path, "a file", true}
	case "edit", "edit_file", "str_replace", "str_replace_editor", "write", "write_file", "insert", "apply_patch":
		return toolAction{"Edited", "edit", "editing", path, "files", true}
	case "create", "create_file":
		return toolAction{"Created", "create", "creating", path, "a file", true}
	}
	return rareToolActionOf(tool)
}

func rareToolActionOf(tool string) toolAction {
	switch tool {
	case "grep", "rg", "search", "code_search":
		return toolAction{"Searched for", "search for", "searching for", []string{"pattern", "query"}, "a text", true}
	case "glob", "find":
		return toolAction{"Looked for", "look for", "looking for", []string{"pattern", "path"}, "files", true}
	case "ls", "list_dir":
		return toolAction{"Listed", "list", "listing", []string{"path"}, "a directory", true}
	case "web_fetch", "fetch", "fetch_url":
		return toolAction{"Fetched", "fetch", "fetching", []string{"url"}, "a page", true}
	case "web_search":
		return toolAction{"Searched the web for", "search the web for", "searching the web for", []string{"query"}, "something", false}
	case "task":
		return toolAction{"Delegated", "delegate", "delegating", []string{"description"}, "a task", false}
	case "report_intent":
		return toolAction{"Turned to", "turn to", "turning to", []string{"intent"}, "something new", false}
	case "sql", "update_todo":
		return toolAction{"Noted", "note", "noting", []string{"description"}, "what is to do", false}
	case "skill":
		return toolAction{"Used the skill", "use the skill", "using the skill", []string{"skill", "name"}, "", false}
	}
	return toolAction{"Called", "call", "calling", nil, "`" + oneLine(tool) + "`", false}
}

// about returns the object of a call for people. Paths below the directory are relative to it.
func (d toolAction) about(call event.ToolStarted, directory string) string {
	var arguments map[string]any
	_ = json.Unmarshal(call.Arguments, &arguments) // without arguments, the default object is used
	for _, key := range d.keys {
		text, _ := arguments[key].(string)
		if text = oneLine(text); text == "" {
			continue
		}
		if d.code {
			return inlineCode(within(text, directory))
		}
		return text
	}
	return d.object
}

func (d toolAction) isReading() bool { return d.past == "Read" }

// within makes a path relative to a directory if it is below it.
func within(path, directory string) string {
	if rest, ok := strings.CutPrefix(path, directory); ok && directory != "" {
		if rest, ok = strings.CutPrefix(rest, string(filepath.Separator)); ok && rest != "" {
			return rest
		}
	}
	return path
}

// readSummary describes consecutive reads.
func readSummary(paths []string) string {
	if len(paths) == 1 {
		return "Read " + paths[0]
	}
	return fmt.Sprintf("Read %d files", len(paths))
}

// inlineCode formats a text as inline code.
func inlineCode(text string) string {
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// oneLine shortens a text to fit into a sentence.
func oneLine(text string) string { return plain.Line(text, 200) }
