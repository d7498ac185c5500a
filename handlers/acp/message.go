package acp

import (
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/handlers/wire"
)

// The messages that only an agent sends or reads; see also copilot/acp. Tests check each one that is sent or received against the
// protocol's JSON Schema.

type newParams struct {
	Directory string       `json:"cwd"`
	Servers   []acp.Server `json:"mcpServers"`
}

type sessionParams struct {
	SessionID string        `json:"sessionId"`
	Servers   *[]acp.Server `json:"mcpServers"` // nil: as they are
}

type readFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
}

type writeFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// settings are the state of a session that the user may change.
type settings struct {
	Modes   acp.ModeState  `json:"modes"`
	Options []configOption `json:"configOptions"`
}

type newResult struct {
	SessionID string `json:"sessionId"`
	settings
}

type configOption struct {
	Type        string        `json:"type"` // select
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Category    string        `json:"category,omitempty"`
	Current     string        `json:"currentValue"`
	Options     []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type optionsResult struct {
	Options []configOption `json:"configOptions"`
}

type setOptionParams struct {
	SessionID string          `json:"sessionId"`
	Option    string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

type listParams struct {
	Directory string `json:"cwd"`
	Cursor    string `json:"cursor"`
}

type listResult struct {
	Sessions []sessionInfo `json:"sessions"`
	Next     string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID string `json:"sessionId"`
	Directory string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	Updated   string `json:"updatedAt,omitempty"`
}

type cancelRequestParams struct {
	RequestID json.RawMessage `json:"requestId"`
}

// textBlock is a content block that has a text, perhaps an empty one.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func textOf(text string) textBlock { return textBlock{"text", text} }

type notification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type chunk struct {
	Kind      string `json:"sessionUpdate"`
	Content   any    `json:"content"`
	MessageID string `json:"messageId,omitempty"`
}

// toolCall is a tool call or, with another kind, its update. Absent members are unchanged.
type toolCall struct {
	Kind      string         `json:"sessionUpdate,omitempty"` // absent in requests for permission
	ID        string         `json:"toolCallId"`
	Title     string         `json:"title,omitempty"`
	Name      string         `json:"name,omitempty"`
	ToolKind  string         `json:"kind,omitempty"`
	Status    string         `json:"status,omitempty"`
	Content   []toolContent  `json:"content,omitempty"` // replaces the previous content
	Locations []acp.Location `json:"locations,omitempty"`
	RawInput  any            `json:"rawInput,omitempty"`
	RawOutput any            `json:"rawOutput,omitempty"`
}

type toolContent struct {
	Type    string     `json:"type"` // content or diff
	Content *textBlock `json:"content,omitempty"`
	Path    string     `json:"path,omitempty"`
	OldText *string    `json:"oldText,omitempty"`
	NewText *string    `json:"newText,omitempty"`
}

type planUpdate struct {
	Kind    string          `json:"sessionUpdate"`
	Entries []acp.PlanEntry `json:"entries"`
}

type usageUpdate struct {
	Kind string `json:"sessionUpdate"`
	Used int64  `json:"used"`
	Size int64  `json:"size"`
}

type infoUpdate struct {
	Kind  string `json:"sessionUpdate"`
	Title string `json:"title"`
}

type modeUpdate struct {
	Kind string `json:"sessionUpdate"`
	Mode string `json:"currentModeId"`
}

type optionsUpdate struct {
	Kind    string         `json:"sessionUpdate"`
	Options []configOption `json:"configOptions"`
}

type commandsUpdate struct {
	Kind     string    `json:"sessionUpdate"`
	Commands []command `json:"availableCommands"`
}

type command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type noticeUpdate struct {
	Kind        string `json:"sessionUpdate"`
	Severity    string `json:"severity"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

type compactionUpdate struct {
	Kind   string `json:"sessionUpdate"`
	ID     string `json:"compactionId"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

type permissionParams struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  toolCall               `json:"toolCall"`
	Options   []acp.PermissionOption `json:"options"`
}

type elicitationParams struct {
	Mode      string             `json:"mode"` // form or url
	SessionID string             `json:"sessionId"`
	CallID    string             `json:"toolCallId,omitempty"`
	Message   string             `json:"message"`
	Schema    *elicitationSchema `json:"requestedSchema,omitempty"`
	ID        string             `json:"elicitationId,omitempty"`
	URL       string             `json:"url,omitempty"`
}

type elicitationSchema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

// property is the schema of one field of a form.
type property struct {
	Type        string         `json:"type"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Format      string         `json:"format,omitempty"`
	OneOf       []titledConst  `json:"oneOf,omitempty"`
	Items       *propertyItems `json:"items,omitempty"`
	Default     any            `json:"default,omitempty"`
	Minimum     *float64       `json:"minimum,omitempty"`
	Maximum     *float64       `json:"maximum,omitempty"`
	MinLength   *float64       `json:"minLength,omitempty"`
	MaxLength   *float64       `json:"maxLength,omitempty"`
	MinItems    *float64       `json:"minItems,omitempty"`
	MaxItems    *float64       `json:"maxItems,omitempty"`
}

type propertyItems struct {
	AnyOf []titledConst `json:"anyOf"`
}

type titledConst struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func titled(choices []form.Choice) []titledConst {
	return wire.List(choices, func(c form.Choice) titledConst { return titledConst{c.Value, c.Title} })
}

type elicitationResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}
