package mcp

import (
	"context"
	"net/http"
	"strconv"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

// DepthVariable is the environment variable that tells programs of an agent how many agents are above them. The portal sets it for the
// agents that it starts.
const DepthVariable = "COPILOT_PORTAL_DEPTH"

// DepthHeader is the header with which a client over HTTP tells the same.
const DepthHeader = "Copilot-Portal-Depth"

// attributeDepth is the attribute of a session with the number of agents in its chain, including its own.
const attributeDepth = "mcp.depth"

// errTooDeep is the cause of errors of the depth limit.
var errTooDeep = &fault.Error{Kind: fault.Denied, Text: "agents start agents too deeply"}

// depth returns how many agents are above a client: those above this portal, those that the client names, or, if an agent of this portal
// may be the client, those up to it. The portal sees that its agents call a tool, but not which of these calls this one is, so the
// deepest counts.
func (a *API) depth(ctx context.Context, header http.Header) int {
	d := a.options.Depth
	if n, err := strconv.Atoi(header.Get(DepthHeader)); err == nil {
		d = max(d, n)
	}
	for _, c := range a.options.Host.Calling(ctx, a.tools) { // agents prefix the name of the server
		d = max(d, a.depthBy(c.Attributes[attributeDepth]))
	}
	return d
}

// depthOf returns the number of agents in the chain of a session.
func (a *API) depthOf(s *copilot.Session) int { return a.depthBy(s.Attribute(attributeDepth)) }

// depthBy is depthOf by the attribute.
func (a *API) depthBy(attribute string) int {
	n, _ := strconv.Atoi(attribute) // sessions of other dialects have none
	return max(n, a.options.Depth+1)
}

// descend returns the depth of an agent that a call puts to work, or an error if the limit forbids it.
func (a *API) descend(ctx context.Context, c call) (int, error) {
	d := a.depth(ctx, c.header()) + 1
	if d > a.options.MaxDepth {
		return 0, tooDeep("an agent at depth %d may not put another one to work: the limit is %d (limits.depth)", d-1, a.options.MaxDepth)
	}
	return d, nil
}

// checkTop refuses a client that is an agent of a portal: jobs and operations start sessions whose depth is not known.
func (a *API) checkTop(ctx context.Context, c call) error {
	if d := a.depth(ctx, c.header()); d > 0 {
		return tooDeep("an agent of a portal (at depth %d) may start sessions, but neither jobs nor operations", d)
	}
	return nil
}

// checkBelow refuses an agent that answers questions of its own session, or of one above it: a person must.
func (a *API) checkBelow(ctx context.Context, c call, s *copilot.Session) error {
	if d := a.depth(ctx, c.header()); d > 0 && a.depthOf(s) <= d {
		return fault.Errorf(fault.Denied, "an agent may answer only questions of sessions that it started: a person must answer this one")
	}
	return nil
}

func tooDeep(format string, args ...any) error {
	return fault.Errorf(fault.Denied, format+"%w", append(args, errSilent{errTooDeep})...)
}

// errSilent is an error that a message does not show.
type errSilent struct{ error }

func (errSilent) Error() string   { return "" }
func (e errSilent) Unwrap() error { return e.error }

// header returns the header of a call over HTTP; nil on streams.
func (c call) header() http.Header {
	if c.request.Extra == nil {
		return nil
	}
	return c.request.Extra.Header
}
