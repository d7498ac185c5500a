package event

import (
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// The life of a session.
type (
	// SessionOpened starts the record and each reopening.
	SessionOpened struct {
		Model     string `json:"model,omitzero"`
		Directory string `json:"directory,omitzero"`
	}
	// SessionClosed is the last event before the end of the record.
	SessionClosed struct{}
	// SessionError is a failure in the session. The session continues unless it is closed.
	SessionError struct {
		Kind fault.Kind `json:"kind,omitzero"`
		Text string     `json:"text,omitzero"`
		Hint string     `json:"hint,omitzero"` // what to do about it, or ""; commands are in backticks
		Exit string     `json:"exit,omitzero"` // how the agent's process ended, if that is the failure; see [agent.Agent.Exit]
	}
	// ModelChanged names the model for the following answers.
	ModelChanged struct {
		Model string `json:"model,omitzero"`
	}
	// TitleChanged is a title that the agent chose for the session.
	TitleChanged struct {
		Title string `json:"title,omitzero"`
	}
	// PolicyChanged holds the rules in force from now on, see [copilot.Session.Rules], and those of them that came from
	// answers, see [copilot.Session.Remembered].
	PolicyChanged struct {
		Rules      permission.Policy `json:"rules,omitzero"`
		Remembered permission.Policy `json:"remembered,omitzero"`
	}
	// UsageChanged holds how full the context window is, in tokens, and the cost of a prompt to the current model; see
	// [agent.Model.Multiplier].
	UsageChanged struct {
		Used       int64   `json:"used,omitzero"`
		Limit      int64   `json:"limit,omitzero"`
		Multiplier float64 `json:"multiplier,omitzero"`
	}
	// ModelCalled holds the tokens used by one answer of a model. Input includes tokens from the vendor's cache.
	ModelCalled struct {
		Model  string `json:"model,omitzero"`
		Input  int64  `json:"input,omitzero"`
		Output int64  `json:"output,omitzero"`
		Cached int64  `json:"cached,omitzero"`
	}
	// CompactionStarted reports that the agent compacts the conversation to make room in the context window.
	CompactionStarted struct {
		Used int64 `json:"used,omitzero"`
	}
	// CompactionEnded holds the tokens before and after, or the reason of a failure.
	CompactionEnded struct {
		Before  int64  `json:"before,omitzero"`
		After   int64  `json:"after,omitzero"`
		Summary string `json:"summary,omitzero"` // "" if the agent does not report it
		Error   string `json:"error,omitzero"`
	}
	// ServerChanged holds the new state of an MCP server of the session. [copilot.Session.SignIn] signs in to a server
	// that needs it.
	ServerChanged struct {
		Server Server `json:"server,omitzero"`
	}
	// Notice is a message of the agent without a type of its own, so that nothing is lost.
	Notice struct {
		Kind string          `json:"kind,omitzero"` // the agent's name for it
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
)

func (b SessionOpened) visit(visitor) Body { return b }

func (b SessionClosed) visit(visitor) Body { return b }

func (b SessionError) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	v.text(&b.Hint, masked|counted)
	v.text(&b.Exit, masked)
	return b
}

func (b ModelChanged) visit(visitor) Body { return b }

func (b TitleChanged) visit(v visitor) Body {
	v.text(&b.Title, masked)
	v.find(TextTitle, b.Title)
	return b
}

func (b PolicyChanged) visit(v visitor) Body {
	for _, rules := range []permission.Policy{b.Rules, b.Remembered} {
		for name := range rules {
			v.hold(EntryCost + len(name))
		}
	}
	return b
}

func (b UsageChanged) visit(visitor) Body { return b }

func (b ModelCalled) visit(visitor) Body { return b }

func (b CompactionStarted) visit(visitor) Body { return b }

func (b CompactionEnded) visit(v visitor) Body {
	v.text(&b.Summary, masked|counted)
	v.text(&b.Error, masked|counted)
	return b
}

func (b ServerChanged) visit(v visitor) Body {
	v.text(&b.Server.Error, masked)
	return b
}

func (b Notice) visit(v visitor) Body {
	v.json(&b.Raw, masked|counted)
	return b
}

// NewSessionError returns the event for an error, with its kind.
func NewSessionError(err error) SessionError {
	return SessionError{Kind: fault.KindOf(err), Text: err.Error()}
}
