package acp

import (
	"cmp"
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// pageLength is the number of sessions on a page of session/list.
const pageLength = 100

func (n *connection) newSession(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p newParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	servers, err := serverConfigs(p.Servers)
	if err != nil {
		return nil, err
	}
	s, err := n.host().Start(ctx, copilot.Start{
		Origin: Origin, Directory: p.Directory, AskUser: true, Servers: servers, Files: n.capabilities().Files.Read, Capabilities: answerable(n.capabilities()),
	})
	if err != nil {
		return nil, err
	}
	a := n.follow(s, 0) // the agent may have said what it cannot do
	return newResult{s.ID(), a.open(ctx, r)}, nil
}

// load sends the whole past of a session before its response, as the protocol demands.
func (n *connection) load(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.stored(ctx, r)
	if err != nil {
		return nil, err
	}
	a := n.follow(s, s.Record().Last())
	if err := a.replay(ctx, 0); err != nil {
		return nil, err
	}
	return a.open(ctx, r), nil
}

// resume is load without the past: only the run at work, if any, is read.
func (n *connection) resume(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.stored(ctx, r)
	if err != nil {
		return nil, err
	}
	a := n.follow(s, s.Record().Last())
	if err := a.prime(ctx); err != nil {
		return nil, err
	}
	return a.open(ctx, r), nil
}

// stored returns the session that a request names, with the MCP servers of the request. A closed one accepts prompts again. It is no
// longer followed as before.
func (n *connection) stored(ctx context.Context, r *jsonrpc.Request) (*copilot.Session, error) {
	var p sessionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Servers != nil {
		err = setServers(s, *p.Servers)
	}
	if err == nil && s.Info().State == copilot.StateClosed {
		err = s.Resume(ctx)
	}
	if err != nil {
		return nil, err
	}
	n.detach(ctx, p.SessionID)
	return s, nil
}

// list lists sessions, most recently changed first. A page may have fewer than others if the editor wants only one directory.
func (n *connection) list(ctx context.Context, p listParams) (any, error) {
	infos, next, err := n.host().Sessions(ctx, p.Cursor, pageLength)
	if err != nil && (p.Cursor != "" || fault.KindOf(err) != fault.Unavailable) {
		return nil, err // the first page has at least those in memory
	}
	list := listResult{[]sessionInfo{}, next}
	for _, i := range infos {
		if p.Directory == "" || p.Directory == i.Directory {
			list.Sessions = append(list.Sessions, sessionInfo{i.ID, i.Directory, cmp.Or(i.Title, i.Prompt), i.Changed.UTC().Format(time.RFC3339)})
		}
	}
	return list, nil
}

// close ends the runs of the editor and no longer follows the session, which stays open for other clients.
func (n *connection) close(ctx context.Context, p sessionParams) (any, error) {
	a, err := n.attachment(p.SessionID)
	if err != nil {
		return nil, err
	}
	a.cancelRuns()
	a.runs.endAll(runEnd{outcome: event.Cancelled})
	n.detach(ctx, p.SessionID)
	return acp.Present{}, nil
}

func (n *connection) remove(ctx context.Context, p sessionParams) (any, error) {
	n.detach(ctx, p.SessionID)
	return acp.Present{}, n.host().Delete(ctx, p.SessionID)
}
