package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A request holds the relevant fields of a chat-completions request.
type request struct {
	Messages []message `json:"messages"`
	Tools    []struct {
		Function function `json:"function"`
	} `json:"tools"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice any `json:"tool_choice"`
	size       int // in bytes
}

type message struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type toolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// content is a string, a list of parts, or null.
type content struct {
	raw   json.RawMessage
	first string // text of the user; the CLI adds parts about attachments
	all   string
}

// UnmarshalJSON accepts all forms and keeps the JSON.
func (c *content) UnmarshalJSON(b []byte) error {
	c.raw = slices.Clone(b)
	if b[0] != '[' {
		err := json.Unmarshal(b, &c.first)
		c.all = c.first
		return err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var texts []string
	for _, p := range parts {
		if c.first = cmp.Or(c.first, p.Text); p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	c.all = strings.Join(texts, "\n")
	return nil
}

func decode(body io.Reader) (*request, error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	req := &request{size: len(b)}
	if err := json.Unmarshal(b, req); err != nil {
		return nil, fmt.Errorf("the body is not a chat-completions request: %w", err)
	}
	if !slices.ContainsFunc(req.Messages, func(m message) bool { return m.Role == "user" }) {
		return nil, errors.New("messages must contain a user message")
	}
	return req, nil
}

// A turn is the state of the conversation in a request.
type turn struct {
	prompt   string          // last prompt, without the additions of the CLI
	raw      json.RawMessage // last prompt as received
	document string          // document of an operation, in this prompt or an earlier one
	fresh    bool            // the document is in this prompt
	earlier  []string        // prompts before the last one
	results  []result        // one for each call after the prompt
	ended    string          // answer when the script is over and the CLI continues by itself
	messages int
	tools    []string // names of the offered tools
	noTools  bool     // no tool may be called
	dir      string   // working directory, if the CLI names it
}

// A result is the result of a call.
type result struct{ id, text string }

// callPrefix marks the calls of a script, because the CLI adds calls of its own to the conversation.
const callPrefix = "demo_"

func readTurn(req *request) *turn {
	t := &turn{messages: len(req.Messages), noTools: req.ToolChoice == "none"}
	for _, offered := range req.Tools {
		t.tools = append(t.tools, offered.Function.Name)
	}
	for _, m := range req.Messages {
		switch m.Role {
		case "system", "developer":
			if _, rest, ok := strings.Cut(m.Content.all, "Current working directory: "); ok {
				dir, _, _ := strings.Cut(rest, "\n")
				t.dir = strings.TrimSpace(dir)
			}
		case "user":
			t.readPrompt(m.Content)
		case "assistant":
			if len(m.ToolCalls) == 0 {
				t.ended = "Noted."
			} else if id := m.ToolCalls[0].ID; strings.HasPrefix(id, callPrefix) {
				t.results = append(t.results, result{id: id})
			}
		case "tool":
			for i := range t.results {
				if t.results[i].id == m.ToolCallID {
					t.results[i].text = m.Content.all
				}
			}
		}
	}
	return t
}

// When a conversation gets long, the CLI asks the model for a summary, which replaces the past, with these texts.
const (
	summaryRequest = "Please create a detailed summary of the conversation"
	summaryNotice  = "Some of the conversation history has been summarized"
)

// How the portal asks for the title of a conversation, and for the message of a commit.
const (
	titleRequest  = "Reply with a title for this conversation"
	commitRequest = "Reply with a message for a git commit"
)

var (
	wantedTitle   = regexp.MustCompile("\\btitle `([^`]+)`")
	wantedMessage = regexp.MustCompile("\\bmessage `([^`]+)`")
)

// aside returns the answer to what the portal asks outside of the conversation; false for other prompts.
func (t *turn) aside() (string, bool) {
	switch {
	case len(t.tools) > 0:
	case strings.HasPrefix(t.prompt, titleRequest):
		return t.wanted(wantedTitle), true
	case strings.HasPrefix(t.prompt, commitRequest):
		return t.wanted(wantedMessage), true
	}
	return "", false
}

// wanted returns the text that the first prompt names; "" if it names none.
func (t *turn) wanted(text *regexp.Regexp) string {
	if len(t.earlier) > 0 {
		if found := text.FindStringSubmatch(t.earlier[0]); found != nil {
			return found[1]
		}
	}
	return ""
}

var (
	summarizedPrompt = regexp.MustCompile(`(?s)<user_message>(.*?)</user_message>`)

	// additions matches text that the CLI adds to a prompt.
	additions = regexp.MustCompile(`(?s)<current_datetime>.*?</current_datetime>|<mode_changed_notice>.*?</mode_changed_notice>|` +
		`<system_reminder>.*?</system_reminder>|<system_notification>.*?</system_notification>|<tagged_files>.*?</tagged_files>|` +
		`<ide_selection>.*?</ide_selection>|<extension_context>.*?</extension_context>`)
)

// readPrompt reads a message of the user. It ignores messages that consist only of additions of the CLI: the script
// continues.
func (t *turn) readPrompt(c content) {
	if strings.HasPrefix(c.first, summaryNotice) {
		t.prompt, t.raw, t.results, t.earlier, t.fresh = "", nil, nil, nil, false
		t.ended = "The conversation was summarized before the script was done. It ends here."
		for _, m := range summarizedPrompt.FindAllStringSubmatch(c.first, -1) {
			t.earlier = append(t.earlier, strings.TrimSpace(m[1]))
		}
		return
	}
	document, around, fresh := cutMarked(c.first, "document")
	prompt := strings.TrimSpace(additions.ReplaceAllString(around, ""))
	if prompt == "" && !fresh && t.raw != nil {
		return
	}
	if t.raw != nil {
		t.earlier = append(t.earlier, t.prompt)
	}
	t.prompt, t.raw, t.results, t.ended, t.fresh = prompt, c.raw, nil, "", fresh
	if fresh {
		t.document = document
	}
}

// cutMarked cuts a text out of a prompt, between two lines with a code that does not occur in the text:
//
//	=== document 0123456789abcdef begins ===
//	=== document 0123456789abcdef ends ===
func cutMarked(prompt, kind string) (text, around string, ok bool) {
	begin := regexp.MustCompile(`(?m)^=== ` + kind + ` ([0-9a-f]{16}) begins ===\n`).FindStringSubmatchIndex(prompt)
	if begin == nil {
		return "", prompt, false
	}
	end := "\n=== " + kind + " " + prompt[begin[2]:begin[3]] + " ends ==="
	text, after, ok := strings.Cut("\n"+prompt[begin[1]:], end)
	if !ok {
		return "", prompt, false
	}
	return strings.TrimPrefix(text, "\n"), prompt[:begin[0]] + after, true
}

// offers returns the first offered one of some tools.
func (t *turn) offers(names ...string) (string, bool) {
	i := slices.IndexFunc(names, func(name string) bool { return t.offered(name) != "" })
	if i < 0 || t.noTools {
		return "", false
	}
	return names[i], true
}

// offered returns the name under which a tool is offered, or "". Agents put the name of its MCP server before that of a tool.
func (t *turn) offered(name string) string {
	if slices.Contains(t.tools, name) {
		return name
	}
	i := slices.IndexFunc(t.tools, func(tool string) bool {
		return strings.HasPrefix(tool, "portal_") && (strings.HasSuffix(tool, "_"+name) || strings.HasSuffix(tool, "-"+name))
	})
	if i < 0 {
		return ""
	}
	return t.tools[i]
}

// calls reports whether a step will call a tool, which ends the answer.
func (t *turn) calls(s step) bool {
	c, ok := s.(call)
	if ok {
		_, ok = t.offers(c.tools...)
	}
	return ok
}

// script returns the steps for the prompt.
func (t *turn) script() []step {
	if t.noTools && strings.HasPrefix(t.prompt, summaryRequest) {
		return []step{say("<overview>\n" + listPrompts(t.earlier) + "</overview>\n\n<checkpoint_title>Trying the demo</checkpoint_title>\n")}
	}
	if steps := t.report(); steps != nil {
		return steps
	}
	if steps := t.studio(); steps != nil {
		return steps
	}
	steps := parse(t.prompt, t.dir)
	if t.fresh {
		steps = append(parse(directions(t.document), t.dir), steps...)
	}
	if len(steps) > 0 {
		return steps
	}
	// The CLI offers this tool in plan mode. An earlier call can only be of this tool.
	proposal := call{tools: []string{"exit_plan_mode"}, args: map[string]any{
		"summary": "# A scripted plan\n\n> " + firstLine(t.prompt) + "\n\n" + cannedPlan,
		"actions": []string{"interactive", "autopilot", "exit_only"}, "recommendedAction": "interactive",
	}}
	if len(t.results) > 0 || t.calls(proposal) {
		return []step{proposal}
	}
	return []step{say("You wrote:\n\n> " + firstLine(t.prompt) + "\n\n" + introduction)}
}

// due returns the part of the script for this answer.
func (t *turn) due(script []step) []step {
	for range t.results {
		i := slices.IndexFunc(script, t.calls)
		if i < 0 {
			return nil
		}
		script = script[i+1:]
	}
	if i := slices.IndexFunc(script, t.calls); i >= 0 {
		return script[:i+1]
	}
	return script
}
