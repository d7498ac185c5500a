package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/fault"
)

// call is a call of a tool.
type call struct{ request *sdk.CallToolRequest }

// progress reports the progress of a call to its client. It is for one goroutine.
type progress struct {
	call  call
	count float64
}

// report sends a notification if the client asked for them. An empty text reports nothing.
func (p *progress) report(ctx context.Context, text string) {
	token := p.call.request.Params.GetProgressToken()
	if token == nil || text == "" {
		return
	}
	p.count++
	// A client that has gone sees no result either.
	_ = p.call.request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.count, Message: text})
}

// How long a call waits: many clients give a call 60 s, unless they see progress.
const (
	usualWait = 50 * time.Second
	maxWait   = time.Hour
	heartbeat = 15 * time.Second // between notifications of progress when nothing happens
)

// deadline is when a call returns although its work goes on.
type deadline struct{ at time.Time }

// newDeadline reads the argument waitSeconds; nil means the default.
func newDeadline(seconds *float64) (deadline, error) {
	wait := usualWait
	if seconds != nil {
		if *seconds < 0 || *seconds > maxWait.Seconds() {
			return deadline{}, fault.Errorf(fault.Invalid, "waitSeconds: use 0 to %.0f", maxWait.Seconds())
		}
		wait = time.Duration(*seconds * float64(time.Second))
	}
	return deadline{time.Now().Add(wait)}, nil
}

func (d deadline) hasPassed() bool { return !time.Now().Before(d.at) }

// nextWait returns how long the next read may wait.
func (d deadline) nextWait() time.Duration { return min(max(time.Until(d.at), 0), heartbeat) }
