package ui

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/follow"
)

// runEndsTimeout limits the time for sending what is recorded when the portal ends. The statuses of runs that have not ended there follow
// at once. The carrier must stay open for longer.
const runEndsTimeout = 1500 * time.Millisecond

// sendRunEnds sends how the runs of the UI ended, whose sessions are closed by now. A run that
// waits for an answer and may continue later also gets a terminal status here: each run has
// exactly one.
func (n *connection) sendRunEnds(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, runEndsTimeout)
	defer cancel()
	n.mu.Lock()
	attached := slices.AppendSeq(slices.Collect(maps.Values(n.detaching)), maps.Values(n.attached))
	n.mu.Unlock()
	for _, a := range attached {
		if run := a.awaitSent(ctx); run != "" {
			n.adoptRun(a.session, run)
		}
	}
	for id, session := range n.unfinished() {
		end := message{method: notifyStatus, run: id, status: statusCancelled, text: n.unfinishedReason(ctx, session)}
		_ = n.peer.Notify(ctx, end.method, end.params(session)) // else the connection ends
	}
}

// awaitSent waits until everything in the record is sent, and returns the run that has not ended there.
func (a *attachment) awaitSent(ctx context.Context) (run string) {
	const often = 5 * time.Millisecond
	for ctx.Err() == nil {
		var sent uint64
		var goesOn bool
		err := a.do(ctx, func(context.Context) error {
			sent, run, goesOn = a.encoder.after, a.encoder.runEncoder.run, a.encoder.runEncoder.status != ""
			return nil
		})
		if err != nil {
			return ""
		}
		session := a.reader.Session()
		info := session.Info()
		switch {
		case info.State == copilot.StateClosed: // the report of that is the last message
		case sent < session.Record().Last():
		case goesOn && info.Owner == 0:
			return run
		default:
			return ""
		}
		follow.PauseUntil(ctx, time.Now().Add(often))
	}
	return ""
}

// adoptRun makes a run of another client one of this UI.
func (n *connection) adoptRun(session, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs[id] == nil {
		n.runs[id] = &startedRun{session: session}
	}
}

// unfinished returns the sessions of this UI's runs without a terminal status, by run.
func (n *connection) unfinished() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := map[string]string{}
	for id, r := range n.runs {
		if r.status == "" && r.session != "" {
			list[id] = r.session
		}
	}
	return list
}

func (n *connection) unfinishedReason(ctx context.Context, session string) string {
	s, err := n.host().Session(ctx, session)
	if err != nil || s.Info().State == copilot.StateClosed {
		return "the portal ended before this run did"
	}
	return "the portal ended before this run did, which goes on when the session is used again"
}
