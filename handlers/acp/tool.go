package acp

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
)

// The kinds of updates of tool calls.
const (
	callStart  = "tool_call"
	callUpdate = "tool_call_update"
)

// maxOutput is how much of the output of a running tool is shown, in bytes: each update repeats it.
const maxOutput = 16 << 10

// maxTitle is the maximum length of a title, in bytes.
const maxTitle = 200

// openCall is a tool call that has not ended.
type openCall struct {
	run    string
	call   toolCall // as it was started
	output string   // the end of it
	unsent bool     // a part of the output was not shown yet
	shown  time.Time
}

// arguments are those that agents give to their tools, as far as an editor can show them.
type arguments struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Pattern     string `json:"pattern"`
	Query       string `json:"query"`
	URL         string `json:"url"`
	Prompt      string `json:"prompt"`
	OldText     string `json:"old_str"`
	NewText     string `json:"new_str"`
	FileText    string `json:"file_text"`
	Range       []int  `json:"view_range"`
}

// kindOf returns the protocol's kind of a tool, and the verb of its title; "" if the tool's name is the title.
func kindOf(tool string) (kind, verb string) {
	switch tool {
	case "bash", "shell", "powershell":
		return "execute", ""
	case "read_bash", "write_bash", "stop_bash", "read_powershell", "write_powershell", "stop_powershell":
		return "execute", ""
	case "view", "read", "read_file":
		return "read", "Read"
	case "edit", "str_replace", "str_replace_editor", "insert", "apply_patch":
		return "edit", "Edit"
	case "create", "create_file", "write", "write_file":
		return "edit", "Create"
	case "grep", "rg", "search", "code_search":
		return "search", "Search for"
	case "glob", "find", "ls", "list_dir":
		return "search", "Find"
	case "web_fetch", "fetch", "fetch_url", "web_search":
		return "fetch", "Fetch"
	case "task", "report_intent", "skill", "sql", "update_todo":
		return "think", ""
	case "exit_plan_mode":
		return "switch_mode", "Propose a plan"
	}
	return "other", ""
}

// describe returns a tool call as it starts.
func (c *encoder) describe(b event.ToolStarted) toolCall {
	var args arguments
	_ = json.Unmarshal(b.Arguments, &args) // arguments of other types have no part that is shown
	kind, verb := kindOf(b.Name)
	object := cmp.Or(args.Command, args.Path, args.Pattern, args.Query, args.URL, args.Description, args.Prompt)
	if args.Path != "" && args.Command == "" {
		object = cmp.Or(args.Pattern, relative(c.directory, args.Path))
	}
	title := strings.TrimSpace(verb + " " + object)
	if object == "" && verb == "" || kind == "other" {
		title = b.Name
	}
	call := toolCall{
		Kind: callStart, ID: b.ID, Name: b.Name, ToolKind: kind, Status: "in_progress", Title: plain.Line(plain.Text(title), maxTitle),
	}
	if kind == "edit" {
		call.Content = change(c.directory, args)
	}
	if len(b.Arguments) > 0 {
		call.RawInput = b.Arguments
	}
	if args.Path != "" {
		call.Locations = []acp.Location{{Path: absolute(c.directory, args.Path)}}
		if len(args.Range) > 0 && args.Range[0] > 0 {
			call.Locations[0].Line = args.Range[0]
		}
	}
	return call
}

// change returns the change of a file that the arguments describe.
func change(directory string, args arguments) []toolContent {
	diff := toolContent{Type: "diff", Path: absolute(directory, args.Path)}
	switch {
	case args.Path == "":
		return nil
	case args.FileText != "":
		diff.NewText = &args.FileText
	case args.OldText != "" || args.NewText != "":
		diff.OldText, diff.NewText = &args.OldText, &args.NewText
	default:
		return nil
	}
	return []toolContent{diff}
}

// encodeWork encodes tool calls and plans.
func (c *encoder) encodeWork(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.ToolStarted:
		call := c.describe(b)
		c.calls[b.ID] = &openCall{run: e.Run, call: call}
		c.add(call)
	case event.ToolOutput:
		if call := c.calls[b.ID]; call != nil {
			call.output, call.unsent = tail(call.output+plain.Output(b.Text)), c.blocks == nil
		}
	case event.ToolEnded:
		c.endCall(b)
	case event.PlanChanged:
		c.addPlan(b.Todos)
	default:
		return false
	}
	return true
}

// tail returns the end of a text, from the start of a line if possible.
func tail(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	text = text[len(text)-maxOutput:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text, "")
}

// endCall encodes the end of a call. Its content replaces what was shown, so the change of a file is repeated.
func (c *encoder) endCall(b event.ToolEnded) {
	end := toolCall{Kind: callUpdate, ID: b.ID, Status: "completed"}
	if call := c.calls[b.ID]; call != nil {
		end.Content = call.call.Content
	} else {
		end.Kind, end.Title = callStart, "A tool" // its start is in a gap, and editors need one
	}
	delete(c.calls, b.ID)
	var shown string
	if b.Result != nil {
		shown = b.Result.Content
		end.RawOutput = map[string]string{"content": b.Result.Content}
	}
	if b.Error != nil {
		end.Status = "failed"
		shown = cmp.Or(shown, b.Error.Text)
		if b.Result == nil {
			end.RawOutput = map[string]string{"error": b.Error.Text, "code": b.Error.Code}
		}
	}
	if shown = plain.Output(shown); shown != "" && (len(end.Content) == 0 || b.Error != nil) {
		end.Content = append(end.Content, text(shown))
	}
	c.add(end)
}

func (c *encoder) addPlan(todos []event.Todo) {
	states := map[event.TodoState]string{event.TodoPending: "pending", event.TodoRunning: "in_progress", event.TodoCompleted: "completed"}
	update := planUpdate{"plan", []acp.PlanEntry{}}
	for _, t := range todos {
		update.Entries = append(update.Entries, acp.PlanEntry{Content: plain.Text(t.Title), Priority: "medium", Status: cmp.Or(states[t.State], "pending")})
	}
	c.add(update)
}

func text(s string) toolContent {
	block := textOf(s)
	return toolContent{Type: "content", Content: &block}
}

// ofQuestion returns the tool call of a permission. What the permission is for comes first: the model chooses the arguments of the call, and
// could make it look like another one.
func (c *encoder) ofQuestion(q event.Question) toolCall {
	call := toolCall{ID: cmp.Or(q.Call, q.ID)}
	if known := c.calls[q.Call]; known != nil {
		call = known.call
	}
	call.Kind, call.Status, call.ToolKind = "", "pending", kindOfNames(q.Names)
	call.Title = plain.Line(plain.Text(cmp.Or(q.Subject(), call.Title)), maxTitle) // the title of a command is in the words of the model
	call.Content = append([]toolContent{text(plain.Text(cmp.Or(q.Detail, q.Title)))}, call.Content...)
	if q.Path != "" {
		call.Locations = []acp.Location{{Path: absolute(c.directory, q.Path)}}
	}
	return call
}

// kindOfNames returns the protocol's kind of what a permission is asked for.
func kindOfNames(names []string) string {
	if len(names) == 0 {
		return "other"
	}
	switch names[0] {
	case permission.Exec:
		return "execute"
	case permission.Write:
		return "edit"
	case permission.Read:
		return "read"
	}
	return "other"
}

func absolute(directory, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(directory, path)
}

func relative(directory, path string) string {
	if r, err := filepath.Rel(directory, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return path
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func compactionID(n int) string { return "compaction-" + strconv.Itoa(n) }
