package ndjson

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// exitPatience is how long a program gets at each step to its end.
const exitPatience = 2 * time.Second

// stop ends the program: it is told to exit, its input ends, then it is asked by
// SIGTERM, and when ctx is done, or it takes too long, ended by force.
func (l *link) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*exitPatience)
	defer cancel()
	limit := exitPatience
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	gentle, cancelGentle := context.WithTimeout(ctx, limit)
	defer cancelGentle()
	if l.peer.Notify(gentle, "exit", nil) == nil {
		_ = l.peer.Flush(gentle) // its input ends in any case
	}
	_ = l.program.in.Close()
	if !l.isGone(gentle) {
		l.program.terminate()
		if !l.isGone(ctx) {
			l.program.kill()
		}
	}
	<-l.done
}

// isGone waits for the end of the program, until ctx is done.
func (l *link) isGone(ctx context.Context) bool {
	select {
	case <-l.program.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

// How long a request may be written, and how often a program is looked at that
// should say something.
const (
	writeLimit = 10 * time.Second
	look       = 50 * time.Millisecond
)

// ping waits for a sign of life, if there should be one: spec/contracts/cli-protocol.md
// has no method to ask for it. A program that nobody waits for is taken to live.
func (l *link) ping(ctx context.Context) error {
	before, heard := l.program.effort(), l.lastActivity.Load()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for l.isOverdue() {
		select {
		case <-ticker.C:
		case <-l.over:
		case <-ctx.Done():
			if l.program.effort().Since(before, time.Unix(0, heard)) {
				return fault.Errorf(fault.Busy, "the agent's program computes and does not answer: %w", ctx.Err())
			}
			return ctx.Err()
		}
	}
	if l.isOver() {
		return errGone
	}
	return nil
}

// isOverdue says whether the program does not do what it should: answer, or read.
func (l *link) isOverdue() bool {
	since := l.writing.Load()
	stuck := since != 0 && time.Since(time.Unix(0, since)) > writeLimit
	return !l.isOver() && (stuck || l.overdue.Load())
}
