package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
)

// The names of the tools for sessions.
const (
	startSession   = "start_session"
	listSessions   = "list_sessions"
	searchSessions = "search_sessions"
	readEvents     = "read_events"
)

func (a *API) addSessionTools() {
	add(a, tool{startSession, "Start a session", "Starts a session, a conversation with a coding agent that works in a directory. " +
		"It may read there; it asks before it does anything else.", acts}, a.start)
	add(a, tool{listSessions, "List sessions", "Lists the sessions of all clients, most recently changed first.", reads}, a.list)
	add(a, tool{searchSessions, "Search sessions", "Finds prompts, answers and titles of sessions that contain all the words, newest first.", reads}, a.search)
	add(a, tool{readEvents, "Read the events of a session", "Returns what happened in a session after an event, without waiting: " +
		"prompts, texts, tool calls, questions.", reads}, a.events)
}

type startArgs struct {
	Directory string `json:"directory,omitempty" jsonschema:"absolute path of the working directory; default: that of the portal"`
	Model     string `json:"model,omitempty" jsonschema:"id or name of the model; default: that of the portal"`
}

type started struct {
	SessionID string `json:"sessionId"`
	Model     string `json:"model"`
	Directory string `json:"directory"`
}

// answerable are the questions that a client answers with the tool.
func answerable() copilot.Capabilities {
	return copilot.Capabilities{Kinds: []event.QuestionKind{
		event.AskPermission, event.AskInput, event.AskForm, event.AskSignIn, event.AskPlan,
	}}
}

func (a *API) start(ctx context.Context, c call, in startArgs) (started, error) {
	depth, err := a.descend(ctx, c)
	if err != nil {
		return started{}, err
	}
	s, err := a.options.Host.Start(ctx, copilot.Start{
		Origin: Origin, Model: in.Model, Directory: cmp.Or(in.Directory, a.options.WorkDir),
		AskUser: true, Capabilities: answerable(), Attributes: map[string]string{attributeDepth: strconv.Itoa(depth)},
	})
	if err != nil {
		return started{}, err
	}
	i := s.Info()
	return started{i.ID, i.Model, i.Directory}, nil
}

type listArgs struct {
	Limit int    `json:"limit,omitempty" jsonschema:"maximum number of sessions; default 20, at most 1000"`
	After string `json:"after,omitempty" jsonschema:"next of the previous page"`
}

type sessionList struct {
	Sessions []summary `json:"sessions"`
	Next     string    `json:"next,omitempty" jsonschema:"after of the next page; absent on the last one"`
}

type summary struct {
	SessionID string        `json:"sessionId"`
	Title     string        `json:"title"`
	Model     string        `json:"model"`
	Directory string        `json:"directory"`
	State     copilot.State `json:"state" jsonschema:"idle, queued, running, waiting (for an answer), closed or elsewhere (another process holds it)"`
	Origin    string        `json:"origin"`
	ChangedAt string        `json:"changedAt"`
	RunID     string        `json:"runId,omitempty" jsonschema:"the current run, or the last"`
	Outcome   event.Outcome `json:"outcome,omitempty"`
	WaitsFor  string        `json:"waitsFor,omitempty"`
}

func summarize(i copilot.Info) summary {
	return summary{i.ID, i.Title, i.Model, i.Directory, i.State, i.Origin, event.FormatTime(i.Changed), i.Run, i.Outcome, i.WaitsFor}
}

// usualPage is the length of a list whose client names none.
const usualPage = 20

// list lists sessions. The domain puts all active sessions on the first page, so that it may be longer than the limit.
func (a *API) list(ctx context.Context, _ call, in listArgs) (sessionList, error) {
	infos, next, err := a.options.Host.Sessions(ctx, in.After, cmp.Or(max(in.Limit, 0), usualPage))
	if err != nil && (in.After != "" || fault.KindOf(err) != fault.Unavailable) {
		return sessionList{}, err // the first page has at least those in memory
	}
	return sessionList{Sessions: wire.List(infos, summarize), Next: next}, nil
}

type searchArgs struct {
	Query string `json:"query" jsonschema:"words that must all occur"`
	Limit int    `json:"limit,omitempty" jsonschema:"maximum number of results; default 20, at most 200"`
}

type found struct {
	Results []hit `json:"results"`
}

type hit struct {
	SessionID string         `json:"sessionId"`
	Title     string         `json:"title"`
	Number    uint64         `json:"number" jsonschema:"of the event; see read_events"`
	RunID     string         `json:"runId,omitempty"`
	Kind      event.TextKind `json:"kind" jsonschema:"prompt, answer or title"`
	Snippet   string         `json:"snippet"`
}

func (a *API) search(ctx context.Context, _ call, in searchArgs) (found, error) {
	results, err := a.options.Host.Search(ctx, in.Query, cmp.Or(max(in.Limit, 0), usualPage))
	if err != nil {
		return found{}, err
	}
	return found{wire.List(results, func(f copilot.Found) hit { return hit{f.Session, f.Title, f.N, f.Run, f.Kind, f.Snippet} })}, nil
}

type eventsArgs struct {
	SessionID string `json:"sessionId"`
	After     uint64 `json:"after,omitempty" jsonschema:"number of the last event already read; default 0"`
	Limit     int    `json:"limit,omitempty" jsonschema:"maximum number of events; default 100, at most 1000"`
}

// Limits of one page of events: default and maximum number, and approximate size in bytes, which a model can still read.
const (
	usualEvents = 100
	maxEvents   = 1000
	eventsSize  = 256 << 10
)

func (a *API) events(ctx context.Context, _ call, in eventsArgs) (any, error) {
	s, err := a.options.Host.Session(ctx, in.SessionID)
	if err != nil {
		return nil, err
	}
	page, err := export.Page(ctx, s.Record(), in.After, min(cmp.Or(max(in.Limit, 0), usualEvents), maxEvents), eventsSize)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(page), nil
}
