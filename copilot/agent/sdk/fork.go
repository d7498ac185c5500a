package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Fork copies the saved or open state of a session; see [agent.Agent]. The CLI ends a copy before an event, whose id Fork finds by
// its time: events keep their times in copies of copies, too.
func (a *Agent) Fork(ctx context.Context, session string, before time.Time) (string, error) {
	id := ""
	err := a.withSave(ctx, session, func(ctx context.Context) error {
		request := &rpc.SessionsForkRequest{SessionID: session}
		if !before.IsZero() {
			cut, err := a.awaitPrompt(ctx, session, before)
			if err != nil {
				return err
			}
			request.ToEventID = cut
		}
		copied, err := a.client.RPC.Sessions.Fork(ctx, request)
		if err == nil {
			id = copied.SessionID
		}
		return err
	})
	if errors.Is(err, errNotSaved) {
		return "", fault.Errorf(fault.NotFound, "the session %s: %w", session, err)
	}
	return id, err
}

// The CLI writes its events with a delay, which is 0.3 s at most on an idle machine. A prompt that it never received never appears.
const (
	writeDelay    = 5 * time.Second
	writeInterval = 100 * time.Millisecond
)

// awaitPrompt returns the id of the first prompt at a time or later; nil if there is none.
func (a *Agent) awaitPrompt(ctx context.Context, session string, since time.Time) (*string, error) {
	end := time.Now().Add(writeDelay)
	for {
		id, err := a.findPrompt(ctx, session, since.Truncate(time.Millisecond)) // as the CLI stores times
		if err != nil || id != nil || time.Now().After(end) {
			return id, err
		}
		select {
		case <-time.After(writeInterval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// eventPage is how many events are read at once.
const eventPage = int64(1000)

// findPrompt reads the saved events backward.
func (a *Agent) findPrompt(ctx context.Context, session string, since time.Time) (id *string, err error) {
	backward, most := rpc.EventsReadDirectionBackward, eventPage
	request := &rpc.SessionsReadPersistedEventsRequest{SessionID: session, Direction: &backward, Max: &most}
	for {
		page, err := a.client.RPC.Sessions.ReadPersistedEvents(ctx, request)
		if err != nil {
			return nil, err
		}
		for i := len(page.Events) - 1; i >= 0; i-- {
			e := page.Events[i]
			d, ok := e.Data.(*rpc.UserMessageData)
			if !ok || text(e.AgentID) != "" || !isUserMessage(d) {
				continue
			}
			if e.Timestamp.Before(since) {
				return id, nil
			}
			found := e.ID
			id = &found
		}
		if !page.HasMore || page.Cursor == "" || len(page.Events) == 0 {
			return id, nil
		}
		request = &rpc.SessionsReadPersistedEventsRequest{SessionID: session, Cursor: &page.Cursor, Max: &most}
	}
}
