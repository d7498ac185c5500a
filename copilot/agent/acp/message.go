package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/acp"
)

// The messages that only a client sends or reads; see also copilot/acp.

type sessionParams struct {
	SessionID string          `json:"sessionId,omitempty"`
	Directory string          `json:"cwd"`
	Servers   []acp.Server    `json:"mcpServers"` // required, also if there are none
	Meta      json.RawMessage `json:"_meta,omitempty"`
}

// sessionID is the parameters of methods that name only a session.
type sessionID struct {
	SessionID string `json:"sessionId"`
}

// settings are the state of a session that can be changed.
type settings struct {
	SessionID string         `json:"sessionId"`
	Modes     *acp.ModeState `json:"modes"`
	Options   []configOption `json:"configOptions"`
}

type configOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  any             `json:"currentValue"` // a text, or a truth value
	Options  json.RawMessage `json:"options"`
}

// configValue is a value of an option, or a group of values.
type configValue struct {
	Value   string        `json:"value"`
	Name    string        `json:"name"`
	Options []configValue `json:"options"`
}

// values returns the values of a selection, without groups.
func (o configOption) values() (list []configValue) {
	var options []configValue
	if json.Unmarshal(o.Options, &options) != nil {
		return nil
	}
	for _, v := range options {
		if v.Options != nil {
			list = append(list, v.Options...)
		} else {
			list = append(list, v)
		}
	}
	return list
}

// current returns the value that is selected.
func (o configOption) current() string {
	text, _ := o.Current.(string) // a truth value is no selection
	return text
}

// option returns the option of a category.
func (s settings) option(category string) (configOption, bool) {
	i := slices.IndexFunc(s.Options, func(o configOption) bool { return o.Category == category })
	if i < 0 {
		return configOption{}, false
	}
	return s.Options[i], true
}

type setOptionParams struct {
	SessionID string `json:"sessionId"`
	Option    string `json:"configId"`
	Value     string `json:"value"`
}

// markdown returns content as Markdown; "" if it is not text.
func markdown(c acp.Content) string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource_link":
		return "[" + c.Name + "](" + c.URI + ")"
	case c.Resource != nil && c.Resource.Text != nil:
		return *c.Resource.Text
	}
	return ""
}

// The reasons for which a turn ends.
const (
	stopCancelled = "cancelled"
	stopTokens    = "max_tokens"
	stopRequests  = "max_turn_requests"
	stopRefusal   = "refusal"
)

type updateParams struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// update has the members of all updates that the portal uses.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"` // a block, or the content of a tool call
	Entries   []acp.PlanEntry `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Title     *string         `json:"title"`
	Options   []configOption  `json:"configOptions"`
	Mode      string          `json:"currentModeId"`
	Commands  json.RawMessage `json:"availableCommands"`
}

// toolUpdate is a tool call, or the change of one: what is absent stays.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Name      string          `json:"name"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Content   []toolContent   `json:"content"`
	Locations []acp.Location  `json:"locations"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Meta      json.RawMessage `json:"_meta"`
}

// terminalOutput returns what a command has written since the last update. Some agents send it beside the content, for terminals of their own.
func (u toolUpdate) terminalOutput() string {
	var meta struct {
		Output struct{ Data string } `json:"terminal_output"`
		Delta  struct{ Data string } `json:"terminal_output_delta"`
	}
	_ = json.Unmarshal(u.Meta, &meta) // anything else is not for us
	return meta.Output.Data + meta.Delta.Data
}

type toolContent struct {
	Type    string      `json:"type"` // content or diff
	Content acp.Content `json:"content"`
	Path    string      `json:"path"`
	OldText *string     `json:"oldText"`
	NewText string      `json:"newText"`
}

// readAll returns the texts of a tool call's content.
func readAll(list []toolContent) string {
	var texts []string
	for _, c := range list {
		if text := markdown(c.Content); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

type permissionParams struct {
	SessionID string                 `json:"sessionId"`
	Call      toolUpdate             `json:"toolCall"`
	Options   []acp.PermissionOption `json:"options"`
}

type fileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
	Line      int    `json:"line"` // the first, from 1; 0 means all
	Limit     int    `json:"limit"`
}
