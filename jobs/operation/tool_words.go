package operation

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
)

// toolAction is what a tool does, in words for people.
type toolAction struct {
	past, present, progressive string   // "Ran", "run", "running"
	keys                       []string // the arguments that say what it is about, the first one that there is
	object                     string   // if none is there
	code                       bool     // the object is code and no prose
}

// The names under which agents have their tools are told alike; the page has the
// same words.
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
		return toolAction{"Ended", "end", "ending", nil, "a command", false}
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

// about is what a call is about, for people. Paths in the directory are told from
// there.
func (d toolAction) about(call event.ToolStarted, directory string) string {
	var arguments map[string]any
	_ = json.Unmarshal(call.Arguments, &arguments) // without them there is the object
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

// within tells a path from a directory if it lies there.
func within(path, directory string) string {
	if rest, ok := strings.CutPrefix(path, directory); ok && directory != "" {
		if rest, ok = strings.CutPrefix(rest, string(filepath.Separator)); ok && rest != "" {
			return rest
		}
	}
	return path
}

// readSummary says what was read one after another.
func readSummary(paths []string) string {
	if len(paths) == 1 {
		return "Read " + paths[0]
	}
	return fmt.Sprintf("Read %d files", len(paths))
}

// inlineCode is a text as code within a line.
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

// oneLine is what of a text has room among other words.
func oneLine(text string) string { return plain.Line(text, 200) }
