package ndjson

import (
	"encoding/json"
	"time"
)

// policy is how long the answer to a method may take, from the writing of the
// request on, and after which waits it is asked for again.
type policy struct {
	limit   time.Duration
	backoff []time.Duration
}

// The methods.
const (
	initialize = "initialize"
	generate   = "generate"
	customize  = "customize"
	chat       = "chat"
)

// policyOf is the table of spec/contracts/cli-protocol.md, "Timeout & Retry Policy".
func policyOf(method string) policy {
	switch method {
	case generate:
		return policy{time.Minute, []time.Duration{0}}
	case customize:
		return policy{30 * time.Second, []time.Duration{0}}
	case chat:
		return policy{15 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second}}
	}
	return policy{10 * time.Second, []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}}
}

// StartTimeout is how long a start may take: that of all attempts to initialize,
// and a little more.
const StartTimeout = time.Minute

// InitializeParams is who asks.
type InitializeParams struct {
	ClientName    string             `json:"clientName"`
	ClientVersion string             `json:"clientVersion"`
	Capabilities  ClientCapabilities `json:"capabilities"`
}

// ClientCapabilities is what the asking side can take.
type ClientCapabilities struct {
	Streaming   bool     `json:"streaming"`
	SpecFormats []string `json:"specFormats,omitempty"`
}

// InitializeResult is who answers.
type InitializeResult struct {
	ServerName    string             `json:"serverName"`
	ServerVersion string             `json:"serverVersion"`
	Capabilities  ServerCapabilities `json:"capabilities"`
}

// ServerCapabilities is what the program can do.
type ServerCapabilities struct {
	CodeGeneration bool `json:"codeGeneration"`
	Customization  bool `json:"customization"`
	Streaming      bool `json:"streaming"`
}

// GenerateParams asks for an interface to an API.
type GenerateParams struct {
	Spec    json.RawMessage  `json:"spec"`
	Format  string           `json:"format,omitempty"`
	Theme   string           `json:"theme,omitempty"`
	Options *GenerateOptions `json:"options,omitempty"`
}

// GenerateOptions say what the interface is to have.
type GenerateOptions struct {
	Layout      string `json:"layout,omitempty"`
	IncludeAuth bool   `json:"includeAuth"`
	Pagination  bool   `json:"pagination"`
}

// GenerateResult is the interface.
type GenerateResult struct {
	Code           string `json:"code"`
	ComponentCount int    `json:"componentCount"`
	Description    string `json:"description"`
}

// CustomizeParams asks for a change of an interface.
type CustomizeParams struct {
	CurrentCode string          `json:"currentCode"`
	Prompt      string          `json:"prompt"`
	Spec        json.RawMessage `json:"spec,omitempty"`
	History     []HistoryEntry  `json:"history,omitempty"`
}

// HistoryEntry is something that was said before.
type HistoryEntry struct {
	Role    string `json:"role"` // user or assistant
	Content string `json:"content"`
}

// CustomizeResult is the changed interface, or a question about the change.
type CustomizeResult struct {
	Code                string   `json:"code"` // "" if clarification is needed
	Description         string   `json:"description"`
	Assumptions         []string `json:"assumptions"`
	ClarificationNeeded bool     `json:"clarificationNeeded"`
	Question            string   `json:"question"`
	Options             []string `json:"options"`
}

// ChatParams is a message.
type ChatParams struct {
	Message string      `json:"message"`
	Context ChatContext `json:"context"`
}

// ChatContext is where a message was written.
type ChatContext struct {
	TabID              string `json:"tabId"` // the conversation
	HasActiveSpec      bool   `json:"hasActiveSpec"`
	HasActiveInterface bool   `json:"hasActiveInterface"`
}

// ChatResult is the answer to a message.
type ChatResult struct {
	Message     string   `json:"message"`
	Suggestions []string `json:"suggestions"`
}

// Chunk is a piece of an answer that is being written. Whatever the chunks say,
// the result counts.
type Chunk struct {
	Attempt int // from 1: with a new attempt the answer begins anew
	Index   int // within the attempt, as the program counts
	Text    string
	Done    bool // it is the attempt's last
}
