package acp

import (
	"encoding/json"
	"slices"
	"strings"
)

// The messages of the protocol, version 1, as far as the portal uses them.

const protocolVersion = 1

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeParams struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
	Client          implementation     `json:"clientInfo"`
}

// clientCapabilities offers nothing: the agent works with files and commands itself, and asks before it does.
type clientCapabilities struct {
	Files    fileCapabilities `json:"fs"`
	Terminal bool             `json:"terminal"`
}

type fileCapabilities struct {
	Read  bool `json:"readTextFile"`
	Write bool `json:"writeTextFile"`
}

type initializeResult struct {
	ProtocolVersion int             `json:"protocolVersion"`
	Agent           *implementation `json:"agentInfo"`
	AuthMethods     []authMethod    `json:"authMethods"`
	Capabilities    struct {
		LoadSession bool `json:"loadSession"`
		Prompt      struct {
			Image           bool `json:"image"`
			EmbeddedContext bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		Servers struct {
			HTTP bool `json:"http"`
			SSE  bool `json:"sse"`
		} `json:"mcpCapabilities"`
		Session struct {
			Resume, Close, Delete *struct{}
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type sessionParams struct {
	SessionID string          `json:"sessionId,omitempty"`
	Directory string          `json:"cwd"`
	Servers   []mcpServer     `json:"mcpServers"` // required, also if there are none
	Meta      json.RawMessage `json:"_meta,omitempty"`
}

// sessionID is the parameters of methods that name only a session.
type sessionID struct {
	SessionID string `json:"sessionId"`
}

// settings are the state of a session that can be changed.
type settings struct {
	SessionID string         `json:"sessionId"`
	Modes     *modeState     `json:"modes"`
	Options   []configOption `json:"configOptions"`
}

type modeState struct {
	Current   string   `json:"currentModeId"`
	Available []modeID `json:"availableModes"`
}

type modeID struct {
	ID string `json:"id"`
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

type setModeParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"modeId"`
}

type promptParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []content `json:"prompt"`
}

// content is a block of content.
type content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string `json:"uri"`
	MimeType string `json:"mimeType,omitempty"`
	Text     string `json:"text"`
}

// read returns the content as Markdown; "" if it is not text.
func (c content) read() string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource_link":
		return "[" + c.Name + "](" + c.URI + ")"
	case c.Resource != nil:
		return c.Resource.Text
	}
	return ""
}

type promptResult struct {
	StopReason string `json:"stopReason"`
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
	Entries   []planEntry     `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Title     *string         `json:"title"`
	Options   []configOption  `json:"configOptions"`
	Mode      string          `json:"currentModeId"`
	Commands  json.RawMessage `json:"availableCommands"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// toolUpdate is a tool call, or the change of one: what is absent stays.
type toolUpdate struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Name      string          `json:"name"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"`
	Content   []toolContent   `json:"content"`
	Locations []location      `json:"locations"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Meta      json.RawMessage `json:"_meta"`
}

// terminal returns what a command has written since the last update. Some agents send it beside the content, for terminals of their own.
func (u toolUpdate) terminal() string {
	var meta struct {
		Output struct{ Data string } `json:"terminal_output"`
		Delta  struct{ Data string } `json:"terminal_output_delta"`
	}
	_ = json.Unmarshal(u.Meta, &meta) // anything else is not for us
	return meta.Output.Data + meta.Delta.Data
}

type toolContent struct {
	Type    string  `json:"type"` // content or diff
	Content content `json:"content"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

type location struct {
	Path string `json:"path"`
}

// readAll returns the texts of a tool call's content.
func readAll(list []toolContent) string {
	var texts []string
	for _, c := range list {
		if text := c.Content.read(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	Call      toolUpdate         `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

type permissionResult struct {
	Outcome outcome `json:"outcome"`
}

type outcome struct {
	Outcome string `json:"outcome"` // selected or cancelled
	Option  string `json:"optionId,omitempty"`
}

type fileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
	Line      int    `json:"line"` // the first, from 1; 0 means all
	Limit     int    `json:"limit"`
}

type fileResult struct {
	Content string `json:"content"`
}
