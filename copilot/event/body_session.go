package event

import (
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// The life of a session.
type (
	// SessionOpened begins the record and each reopening.
	SessionOpened struct {
		Model     string `json:"model,omitzero"`
		Directory string `json:"directory,omitzero"`
	}
	// SessionClosed is the last event before the record ends.
	SessionClosed struct{}
	// SessionError is a failure inside the session, in its place among the
	// events. The session goes on unless it is closed.
	SessionError struct {
		Kind fault.Kind `json:"kind,omitzero"`
		Text string     `json:"text,omitzero"`
		Hint string     `json:"hint,omitzero"` // what to do about it, "" if there is nothing to say; commands stand in backticks
		Exit string     `json:"exit,omitzero"` // how the agent's process has ended, if that is the failure; see [agent.Agent.Exit]
	}
	// ModelChanged says which model answers from now on.
	ModelChanged struct {
		Model string `json:"model,omitzero"`
	}
	// TitleChanged is a title that the agent found for the session.
	TitleChanged struct {
		Title string `json:"title,omitzero"`
	}
	// PolicyChanged has the rules in force from now on, see [copilot.Session.Rules], and those
	// of them that came from answers, see [copilot.Session.Remembered].
	PolicyChanged struct {
		Rules      permission.Policy `json:"rules,omitzero"`
		Remembered permission.Policy `json:"remembered,omitzero"`
	}
	// UsageChanged is the fill of the context window, in tokens, and what a
	// prompt to the model that answers costs; see [agent.Model.Multiplier].
	UsageChanged struct {
		Used       int64   `json:"used,omitzero"`
		Limit      int64   `json:"limit,omitzero"`
		Multiplier float64 `json:"multiplier,omitzero"`
	}
	// ModelCalled is what one answer of a model has used, in tokens. Input
	// includes what came from the vendor's cache.
	ModelCalled struct {
		Model  string `json:"model,omitzero"`
		Input  int64  `json:"input,omitzero"`
		Output int64  `json:"output,omitzero"`
		Cached int64  `json:"cached,omitzero"`
	}
	// CompactionStarted says that the agent sums up the conversation to make room
	// in the context window.
	CompactionStarted struct {
		Used int64 `json:"used,omitzero"`
	}
	// CompactionEnded has the tokens before and after, or the reason of a failure.
	CompactionEnded struct {
		Before  int64  `json:"before,omitzero"`
		After   int64  `json:"after,omitzero"`
		Summary string `json:"summary,omitzero"` // "" if the agent does not tell it
		Error   string `json:"error,omitzero"`
	}
	// ServerChanged is the new state of an MCP server of the session. One that
	// needs a sign-in gets it by [copilot.Session.SignIn].
	ServerChanged struct {
		Server Server `json:"server,omitzero"`
	}
	// Notice is something the agent told that has no type of its own here, so that
	// nothing is lost.
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

// NewSessionError describes an error, with its kind.
func NewSessionError(err error) SessionError {
	return SessionError{Kind: fault.KindOf(err), Text: err.Error()}
}
