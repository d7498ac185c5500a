// Package acp has the messages of the Agent Client Protocol that the portal uses on both sides: as a client of agents (copilot/agent/acp)
// and as an agent for editors (handlers/acp). Messages that only one side sends or reads are there.
package acp

// Version is the version of the protocol.
const Version = 1

// Present is a capability: an empty object.
type Present struct{}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams is what a client says of itself.
type InitializeParams struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"clientCapabilities"`
	Client          Implementation     `json:"clientInfo"`
}

// ClientCapabilities is what a client can do for an agent.
type ClientCapabilities struct {
	Files struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  struct {
		Compaction *Present `json:"compaction"`
		Notices    *Present `json:"notices"`
	} `json:"session,omitzero"`
	Elicitation struct {
		Form *Present `json:"form"`
		URL  *Present `json:"url"`
	} `json:"elicitation,omitzero"`
}

// InitializeResult is what an agent says of itself.
type InitializeResult struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    AgentCapabilities `json:"agentCapabilities"`
	AuthMethods     []AuthMethod      `json:"authMethods"`
	Agent           *Implementation   `json:"agentInfo"`
}

// AgentCapabilities is what an agent can do.
type AgentCapabilities struct {
	LoadSession bool                `json:"loadSession"`
	Servers     ServerCapabilities  `json:"mcpCapabilities"`
	Prompt      PromptCapabilities  `json:"promptCapabilities"`
	Session     SessionCapabilities `json:"sessionCapabilities"`
}

// ServerCapabilities is how an agent can reach MCP servers, besides programs.
type ServerCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// PromptCapabilities is what prompts may have, besides texts and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// SessionCapabilities is what an agent can do with its sessions.
type SessionCapabilities struct {
	List   *Present `json:"list"`
	Resume *Present `json:"resume"`
	Close  *Present `json:"close"`
	Delete *Present `json:"delete"`
}

// AuthMethod is a way to sign in.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Server is an MCP server: a program, which has no type, or one at a URL.
type Server struct {
	Type    string      `json:"type,omitempty"` // http or sse
	Name    string      `json:"name"`
	Command string      `json:"command,omitempty"`
	Args    []string    `json:"args,omitzero"`
	Env     []NamedText `json:"env,omitzero"`
	URL     string      `json:"url,omitempty"`
	Headers []NamedText `json:"headers,omitzero"`
}

// NamedText is a variable of a program, or a header.
type NamedText struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ModeState is the mode of a session, and those that it can have.
type ModeState struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is a mode of a session.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// SetModeParams changes the mode of a session.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"modeId"`
}

// PromptParams is a prompt to a session.
type PromptParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []Content `json:"prompt"`
}

// PromptResult says why the turn of a prompt has ended.
type PromptResult struct {
	StopReason string `json:"stopReason"`
}

// Content is a part of a prompt or of a message: a text, an image, a link to a resource, or a resource.
type Content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"` // base64 on the wire
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is a text or data, with its place.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// PlanEntry is a task of a plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Location is a place in a file that a tool uses.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// PermissionOption is a possible answer to a request for permission.
type PermissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// PermissionResult is the answer to a request for permission.
type PermissionResult struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is the option that was selected, if one was.
type Outcome struct {
	Outcome string `json:"outcome"` // selected or cancelled
	Option  string `json:"optionId,omitempty"`
}

// FileText is the text of a file.
type FileText struct {
	Content string `json:"content"`
}
