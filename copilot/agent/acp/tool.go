package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// toolCall is a tool call that has not ended.
type toolCall struct {
	toolUpdate // what is known of it

	started  bool
	terminal event.Output // that came beside the content
	unsent   event.Output // of it, not reported
	output   string       // of the content that was reported
	refusal  string       // why the user refused it
}

// find returns an open call, which may be new.
func (t *turn) find(id string) *toolCall {
	i := slices.IndexFunc(t.calls, func(c *toolCall) bool { return c.ID == id })
	if i < 0 {
		t.calls = append(t.calls, &toolCall{toolUpdate: toolUpdate{ID: id}})
		i = len(t.calls) - 1
	}
	return t.calls[i]
}

// merge adds what an update names.
func (c *toolCall) merge(u toolUpdate) {
	c.Title, c.Name, c.Kind, c.Status = cmp.Or(u.Title, c.Title), cmp.Or(u.Name, c.Name), cmp.Or(u.Kind, c.Kind), cmp.Or(u.Status, c.Status)
	if u.Content != nil {
		c.Content = u.Content
	}
	if len(u.Locations) > 0 {
		c.Locations = u.Locations
	}
	if u.RawOutput != nil {
		c.RawOutput = u.RawOutput
	}
	c.RawInput = join(c.RawInput, u.RawInput)
	output := u.terminalOutput()
	c.terminal.Add(output)
	c.unsent.Add(output)
}

// text returns the output so far; of long output that came beside the content, the end.
func (c *toolCall) text() string { return cmp.Or(c.terminal.String(), readAll(c.Content)) }

// join returns an object with the members of both; those of the second have priority. What is no object is replaced.
func join(a, b json.RawMessage) json.RawMessage {
	if b == nil || string(b) == "null" {
		return a
	}
	var first, second map[string]json.RawMessage
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil || first == nil {
		return b
	}
	for name, v := range second {
		first[name] = v
	}
	joined, err := json.Marshal(first)
	if err != nil {
		return b
	}
	return joined
}

// callChanged translates an update of a tool call. The start is reported when the call is no longer pending: some agents
// announce calls before their arguments are known. The caller must hold the lock.
func (c *conversation) callChanged(t *turn, u toolUpdate) {
	if slices.Contains(t.ended, u.ID) {
		return // a repetition
	}
	call := t.find(u.ID)
	if call.merge(u); call.Status == "in_progress" {
		c.startCall(call)
	}
	switch {
	case call.Status == "completed", call.Status == "failed":
		c.startCall(call)
		c.endCall(t, call)
	case call.started:
		c.addOutput(call)
	}
}

// startCalls reports the start of all calls, because something follows them. The caller must hold the lock.
func (c *conversation) startCalls(t *turn) {
	for _, call := range t.calls {
		c.startCall(call)
	}
}

// startCall reports the start of a call once. The caller must hold the lock.
func (c *conversation) startCall(call *toolCall) {
	if call.started {
		return
	}
	call.started = true
	name, arguments := call.normalized()
	c.emit(event.ToolStarted{ID: call.ID, Name: name, Arguments: arguments})
}

// addOutput reports what was added to the output of a running call. The caller must hold the lock.
func (c *conversation) addOutput(call *toolCall) {
	added := cmp.Or(call.unsent.String(), call.addedContent())
	call.unsent = event.Output{}
	if added != "" {
		c.emit(event.ToolOutput{ID: call.ID, Text: added})
	}
}

// addedContent returns what was added to the content since the last call; "" if there is output beside it.
func (c *toolCall) addedContent() string {
	text := readAll(c.Content)
	added, continued := strings.CutPrefix(text, c.output)
	if !continued || c.terminal.String() != "" {
		return ""
	}
	c.output = text
	return added
}

// endCall reports the end of a call. The caller must hold the lock.
func (c *conversation) endCall(t *turn, call *toolCall) {
	t.calls = slices.DeleteFunc(t.calls, func(other *toolCall) bool { return other == call })
	for _, q := range c.questions {
		if q.Call == call.ID {
			c.withdraw(q)
		}
	}
	t.ended = append(t.ended, call.ID)
	text := cmp.Or(call.text(), outputText(call.RawOutput))
	end := event.ToolEnded{ID: call.ID}
	if call.Status == "failed" {
		end.Error = &event.ToolError{Text: cmp.Or(call.refusal, text, "the tool failed")}
	} else {
		end.Result = &event.ToolResult{Content: text}
	}
	c.emit(end)
}

// endCalls ends the calls that the agent never ended. The caller must hold the lock.
func (c *conversation) endCalls(t *turn) {
	for _, call := range slices.Clone(t.calls) {
		c.startCall(call)
		call.Status, call.refusal = "failed", cmp.Or(call.refusal, "the agent did not report how it ended")
		c.endCall(t, call)
	}
	for _, a := range t.announced {
		if !a.claimed { // it did not call the tool of a client, whatever it was
			c.startCall(a.call)
			c.endCall(t, a.call)
		}
	}
	for _, id := range t.clientCalls {
		c.emit(event.ToolEnded{ID: id, Error: &event.ToolError{Text: "the agent ended before the call"}})
	}
}

// outputText returns the raw output of a tool as text.
func outputText(raw json.RawMessage) string {
	var known struct{ Content, Output, Error, Message string }
	var text string
	switch {
	case raw == nil || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &known) == nil:
		return cmp.Or(known.Content, known.Output, known.Error, known.Message, string(raw))
	}
	return string(raw)
}

// input is what agents name in the input of their tools.
type input struct {
	Command     words  `json:"command"` // with Args
	Args        words  `json:"args"`
	Workdir     string `json:"workdir"`
	Cwd         string `json:"cwd"`
	Description string `json:"description"`
	Path        string `json:"path"`
	FilePath    string `json:"filePath"`
	LowerPath   string `json:"filepath"`
	SnakePath   string `json:"file_path"`
	FileName    string `json:"fileName"`
	URL         string `json:"url"`
	Diff        string `json:"diff"`
}

// words are a command: a text, or a list of words.
type words string

// UnmarshalJSON accepts both forms, and ignores others.
func (w *words) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		texts := make([]string, len(list))
		for i, element := range list {
			if json.Unmarshal(element, &texts[i]) != nil {
				texts[i] = string(element)
			}
		}
		*w = words(permission.CommandLine(texts))
		return nil
	}
	_ = json.Unmarshal(raw, (*string)(w)) // another type is no command
	return nil
}

// input returns the known part of the input.
func (u toolUpdate) input() (in input) {
	_ = json.Unmarshal(u.RawInput, &in) // other inputs have no part that is known
	if in.Command != "" && in.Args != "" {
		in.Command += " " + in.Args
	}
	in.Path = cmp.Or(in.Path, in.FilePath, in.LowerPath, in.SnakePath, in.FileName)
	if in.Path == "" && len(u.Locations) > 0 {
		in.Path = u.Locations[0].Path
	}
	return in
}

// change returns the first change of a file in the content.
func (u toolUpdate) change() (toolContent, bool) {
	i := slices.IndexFunc(u.Content, func(c toolContent) bool { return c.Type == "diff" })
	if i < 0 {
		return toolContent{}, false
	}
	return u.Content[i], true
}

// normalized returns the name and the arguments of a call in the form of the Copilot CLI, which all clients know.
func (u toolUpdate) normalized() (name string, arguments json.RawMessage) {
	in := u.input()
	name, known := u.known(in)
	if u.Title != known["command"] && u.Title != filepath.Base(in.Path) {
		known["description"] = u.Title
	}
	for member, v := range known {
		if v == "" {
			delete(known, member)
		}
	}
	raw, err := json.Marshal(known)
	if err != nil {
		return name, u.RawInput
	}
	return name, join(u.RawInput, raw)
}

// known returns the name of the Copilot CLI's tool of this kind, and its arguments.
func (u toolUpdate) known(in input) (name string, arguments map[string]string) {
	switch u.Kind {
	case "execute":
		return "bash", map[string]string{"command": cmp.Or(string(in.Command), u.Title)}
	case "read":
		return "view", map[string]string{"path": in.Path}
	case "edit":
		return u.knownEdit(in)
	case "delete", "move":
		return u.Kind, map[string]string{"path": in.Path}
	case "search":
		return "grep", map[string]string{"path": in.Path}
	case "fetch":
		return "web_fetch", map[string]string{"url": in.URL}
	}
	return cmp.Or(u.Name, u.Title, u.Kind, "tool"), map[string]string{}
}

// knownEdit is known for changes of a file.
func (u toolUpdate) knownEdit(in input) (name string, arguments map[string]string) {
	diff, ok := u.change()
	switch {
	case !ok:
		return "edit", map[string]string{"path": in.Path}
	case diff.OldText == nil || *diff.OldText == "":
		return "create", map[string]string{"path": in.Path, "file_text": diff.NewText}
	}
	return "edit", map[string]string{"path": in.Path, "old_str": *diff.OldText, "new_str": diff.NewText}
}
