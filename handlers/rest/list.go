package rest

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
)

// Summary is a session as lists show it.
type Summary struct {
	SessionID        string        `json:"sessionId"`
	Title            string        `json:"title"`
	Model            string        `json:"model"`
	WorkingDirectory string        `json:"workingDirectory"`
	State            copilot.State `json:"state"`
	Origin           string        `json:"origin"`
	Owner            int           `json:"owner,omitempty"`
	CreatedAt        string        `json:"createdAt"`
	ChangedAt        string        `json:"changedAt"`
	Usage            usage         `json:"usage"`
	Outcome          event.Outcome `json:"outcome,omitempty"`
	WaitsFor         string        `json:"waitsFor,omitempty"`
	Pinned           bool          `json:"pinned,omitempty"`
	Archived         bool          `json:"archived,omitempty"`
	ForkedFrom       *forkOrigin   `json:"forkedFrom,omitempty"`
}

type forkOrigin struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"` // at the time of the fork
}

func originOf(f copilot.ForkOrigin) *forkOrigin {
	if f.ID == "" {
		return nil
	}
	return &forkOrigin{f.ID, f.Title}
}

type usage struct {
	Used         int64   `json:"used"`
	Limit        int64   `json:"limit"`
	Multiplier   float64 `json:"multiplier"`
	InputTokens  int64   `json:"inputTokens"`
	OutputTokens int64   `json:"outputTokens"`
}

// Summarize returns summaries of sessions. The list is never nil.
func Summarize(infos []copilot.Info) []Summary {
	return wire.List(infos, func(i copilot.Info) Summary {
		return Summary{
			SessionID: i.ID, Title: i.Title, Model: i.Model, WorkingDirectory: i.Directory,
			State: i.State, Origin: i.Origin, Owner: i.Owner, CreatedAt: event.FormatTime(i.Created), ChangedAt: event.FormatTime(i.Changed),
			Usage: usage{
				Used: i.Usage.Used, Limit: i.Usage.Limit, Multiplier: i.Usage.Multiplier,
				InputTokens: i.Usage.Input, OutputTokens: i.Usage.Output,
			},
			Outcome: i.Outcome, WaitsFor: i.WaitsFor, Pinned: i.Pinned, Archived: i.Archived,
			ForkedFrom: originOf(i.ForkOf),
		}
	})
}

// sessions is the response of list.
type sessions struct {
	Sessions   []Summary `json:"sessions"`
	Next       string    `json:"next,omitempty"`
	Incomplete string    `json:"incomplete,omitempty"` // why only sessions in memory are listed
}

// list returns the known sessions, most recently active first. If the store cannot be
// read, it lists the sessions in memory.
func (a *API) list(c *gin.Context) (any, error) {
	limit, err := number(c, "limit", 31)
	if err != nil {
		return nil, err
	}
	infos, next, err := a.options.Host.Sessions(c.Request.Context(), c.Query("after"), int(limit)) //nolint:gosec // 31 bits
	answer := sessions{Sessions: Summarize(infos), Next: next}
	if fault.KindOf(err) == fault.Unavailable && c.Query("after") == "" {
		answer.Incomplete = err.Error()
		_ = c.Error(err) // for the log only
		err = nil
	}
	return answer, err
}

// number reads a numeric query parameter of at most bits bits, 0 without it.
func number(c *gin.Context, name string, bits int) (uint64, error) {
	text := c.Query(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, fault.Errorf(fault.Invalid, "%s=%q: a non-negative integer is required", name, text)
	}
	return n, nil
}

// Hit is a search result.
type Hit struct {
	SessionID string         `json:"sessionId"`
	Title     string         `json:"title"`
	Number    uint64         `json:"number"`
	RunID     string         `json:"runId,omitempty"`
	Kind      event.TextKind `json:"kind"`
	Snippet   string         `json:"snippet"`
	Hits      [][2]int       `json:"hits"`
}

// Hits encodes search results. The list is never nil.
func Hits(found []copilot.Found) []Hit {
	return wire.List(found, func(f copilot.Found) Hit {
		hits := append([][2]int{}, f.Hits...) // never null
		return Hit{f.Session, f.Title, f.N, f.Run, f.Kind, f.Snippet, hits}
	})
}

// search finds texts in all sessions.
func (a *API) search(c *gin.Context) (any, error) {
	limit, err := number(c, "limit", 31)
	if err != nil {
		return nil, err
	}
	found, err := a.options.Host.Search(c.Request.Context(), c.Query("q"), int(limit)) //nolint:gosec // 31 bits
	return gin.H{"results": Hits(found)}, err
}
