package sdk

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/event"
)

// The hooks around calls of the CLI's tools. The CLI calls one before it looks at the file and asks for permission, and another after the
// tool has ended, but none if the permission is refused. It reads a file before it asks, and writes what it has computed then. So unsaved
// changes get into an edit through its arguments: then the user permits both at once, and a refusal changes nothing.

// The tools that read or write files. apply_patch, which the CLI offers some models, writes what its patch names.
const (
	toolView   = "view"
	toolEdit   = "edit"
	toolCreate = "create"
	toolPatch  = "apply_patch"
)

// Notes for the model.
const (
	noteUnsaved  = "The user's editor has unsaved changes in this file. The text above contains them. Commands and searches see the file without them."
	noteElse     = "The user's editor has unsaved changes in this file, which the text above does not contain. View parts of the file with view_range to see them."
	noteOnDisk   = "The user's editor has unsaved changes in this file, and this tool used the file without them. View the file, and edit what you see."
	viewLimit    = 20 << 10 // of text that view returns, in bytes, unless it is forced
	successField = "textResultForLlm"
)

// hooks returns the hooks of a conversation.
func (f *openFiles) hooks() *vendor.SessionHooks {
	return &vendor.SessionHooks{
		OnPreToolUse: func(in vendor.PreToolUseHookInput, _ vendor.HookInvocation) (*vendor.PreToolUseHookOutput, error) {
			return f.before(in.ToolName, in.ToolArgs), nil
		},
		OnPostToolUse: func(in vendor.PostToolUseHookInput, _ vendor.HookInvocation) (*vendor.PostToolUseHookOutput, error) {
			return f.after(in.ToolName, in.ToolArgs, in.ToolResult), nil
		},
		OnPostToolUseFailure: func(in vendor.PostToolUseFailureHookInput, _ vendor.HookInvocation) (*vendor.PostToolUseFailureHookOutput, error) {
			return f.failed(in.ToolName, in.ToolArgs), nil
		},
	}
}

// before is called before a tool.
func (f *openFiles) before(tool string, args any) (changed *vendor.PreToolUseHookOutput) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.writes(tool, args) {
		k, t := f.begin(context.Background(), path)
		if tool == toolEdit && t.state == unsaved && k.calls == 1 { // what other calls do to the file is not known yet
			changed = k.withUnsaved(t, args)
		}
	}
	return changed
}

// withUnsaved makes an edit of the buffer one of the file, which adds the unsaved changes. An edit that does not fit the buffer stays as it is.
func (k *openFile) withUnsaved(t texts, args any) *vendor.PreToolUseHookOutput {
	old, _ := argument(args, "old_str")
	with, _ := argument(args, "new_str")
	edited, ok := replaceOnce(t.buffer, lineEnds(old), lineEnds(with))
	if !ok {
		return nil
	}
	rewritten, _ := args.(map[string]any)
	rewritten = maps.Clone(rewritten)
	before, after := difference(t.disk, edited)
	rewritten["old_str"], rewritten["new_str"] = before, after
	k.unsaved, k.edit = t.buffer, after
	return &vendor.PreToolUseHookOutput{ModifiedArgs: rewritten}
}

func lineEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// after is called after a tool that has not failed.
func (f *openFiles) after(tool string, args, result any) *vendor.PostToolUseHookOutput {
	f.mu.Lock()
	defer f.mu.Unlock()
	if tool == toolView {
		return f.viewed(args, result)
	}
	for _, path := range f.writes(tool, args) {
		k := f.file(path)
		if with, _ := argument(args, "new_str"); tool == toolEdit && k.edit != "" && with == k.edit {
			k.base = &k.unsaved
		}
		f.end(context.Background(), path, true)
	}
	return nil
}

// failed is called after a tool that has failed.
func (f *openFiles) failed(tool string, args any) (said *vendor.PostToolUseFailureHookOutput) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.writes(tool, args) {
		f.end(context.Background(), path, false)
		if f.compareFile(context.Background(), path, f.file(path)).state == unsaved {
			said = &vendor.PostToolUseFailureHookOutput{AdditionalContext: noteOnDisk}
		}
	}
	return said
}

// viewed gives the model the text of a buffer instead of that of the file. If the result is not the text of the file, because that is too
// large, it only says so. The caller must hold the lock.
func (f *openFiles) viewed(args, result any) *vendor.PostToolUseHookOutput {
	path, _ := argument(args, "path")
	path = f.absolute(path)
	k := f.file(path)
	if k.calls > 0 {
		return nil
	}
	t := f.compareFile(context.Background(), path, k)
	if t.state != unsaved {
		return nil
	}
	var asked struct {
		Span  []int `json:"view_range"`
		Force bool  `json:"forceReadLargeFiles"`
	}
	decode(args, &asked)
	given, _ := result.(map[string]any)
	text, _ := given[successField].(string)
	onDisk, ok := lines(t.disk, asked.Span)
	inBuffer, there := lines(t.buffer, asked.Span)
	if !ok || !there || !sameText(lineEnds(text), onDisk) || len(inBuffer) > viewLimit && !asked.Force {
		return &vendor.PostToolUseHookOutput{AdditionalContext: noteElse}
	}
	shown := maps.Clone(given)
	shown[successField], shown["sessionLog"] = inBuffer, inBuffer
	return &vendor.PostToolUseHookOutput{ModifiedResult: shown, AdditionalContext: noteUnsaved}
}

func sameText(a, b string) bool {
	return strings.TrimSuffix(strings.TrimPrefix(a, byteOrderMark), "\n") == strings.TrimSuffix(b, "\n")
}

// writes returns the files that a call of a tool may write.
func (f *openFiles) writes(tool string, args any) (paths []string) {
	switch tool {
	case toolEdit, toolCreate:
		if path, ok := argument(args, "path"); ok {
			paths = append(paths, f.absolute(path))
		}
	case toolPatch:
		for line := range strings.SplitSeq(patchText(args), "\n") {
			for _, mark := range []string{"*** Update File: ", "*** Add File: "} {
				if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), mark); ok {
					paths = append(paths, f.absolute(strings.TrimSpace(path)))
				}
			}
		}
	}
	return paths
}

// patchText returns the patch, which is the argument itself or its only text.
func patchText(args any) string {
	if text, ok := args.(string); ok {
		return text
	}
	fields, _ := args.(map[string]any)
	for _, value := range fields {
		if text, ok := value.(string); ok && strings.Contains(text, "*** Begin Patch") {
			return text
		}
	}
	return ""
}

// argument returns an argument that is a text.
func argument(args any, name string) (string, bool) {
	fields, _ := args.(map[string]any)
	text, ok := fields[name].(string)
	return text, ok
}

// decode decodes arguments; what does not fit is left out.
func decode(args, into any) {
	raw, err := json.Marshal(args)
	if err == nil {
		_ = json.Unmarshal(raw, into)
	}
}

// track follows the calls that write files, of which a refused one has no hook at its end. It runs on the SDK's event goroutine and returns
// the files of a call that was refused.
func (f *openFiles) track(b event.Body, writing map[string][]string) (refused []string) {
	switch b := b.(type) {
	case event.ToolStarted:
		var args any
		if json.Unmarshal(b.Arguments, &args) == nil {
			if paths := f.writes(b.Name, args); len(paths) > 0 {
				writing[b.ID] = paths
			}
		}
	case event.ToolEnded:
		if b.Error != nil && b.Error.Code == event.CodeDenied {
			refused = writing[b.ID]
		}
		delete(writing, b.ID)
	}
	return refused
}
