package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// storage is the data directory. Without one sessions live as long as the
// process, either because that was wanted or because it cannot be used.
type storage struct {
	store *store.Store
	fault *store.Failure // why it cannot be used
}

// openStorage opens the data directory, unless nothing is to be kept. One that
// cannot be used is no reason not to work: the user is told.
func openStorage(ctx context.Context, c Config, log *slog.Logger) storage {
	if c.Ephemeral {
		return storage{}
	}
	s, err := store.Open(ctx, store.Options{Directory: c.DataDir, Log: log})
	if err == nil {
		return storage{store: s}
	}
	var fault *store.Failure
	if !errors.As(err, &fault) {
		fault = &store.Failure{Kind: store.Failed, Text: err.Error(), Since: time.Now()}
	}
	log.Error("sessions are not stored: they are gone when the portal ends", "kind", fault.Kind, "error", fault.Text)
	return storage{fault: fault}
}

// failure is what keeps sessions from being stored; nil if nothing does.
func (s storage) failure() *store.Failure {
	if s.store == nil {
		return s.fault
	}
	return s.store.Failure()
}

// isStoring is 1 while sessions are stored, else 0.
func (s storage) isStoring() int {
	if s.store == nil || s.store.Failing() {
		return 0
	}
	return 1
}

// close writes what is left.
func (s storage) close(log *slog.Logger) {
	if s.store == nil {
		return
	}
	if err := s.store.Close(); err != nil {
		log.Error("some of what happened last could not be stored", "error", err)
	}
}

// retainEvery is how often old sessions are looked for.
const retainEvery = time.Hour

// recoverEvery is how often sessions of killed processes are looked for. Clients
// may wait for the end of a run that such a one was at.
const recoverEvery = 2 * time.Second

// reviveEvery is at how many of these times those are looked for that were given
// back while they waited for an answer.
const reviveEvery = 15

// maintainStorage looks after the stored sessions until it is told to stop: it puts those in
// order that killed processes left, and deletes those that are too old; and does what else there is.
func (k *portalCore) maintainStorage(ctx context.Context, more ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { k.recoverSessions(ctx) })
	work.Go(func() { k.retain(ctx) })
	for _, do := range more {
		work.Go(func() { do(ctx) })
	}
	return func() {
		cancel()
		work.Wait()
	}
}

func (k *portalCore) recoverSessions(ctx context.Context) {
	every := time.NewTicker(recoverEvery)
	defer every.Stop()
	for n := 0; ; n++ {
		err := k.host.Recover(ctx)
		if n%reviveEvery == 0 {
			err = errors.Join(err, k.host.ReopenQuestions(ctx))
		}
		if err != nil && ctx.Err() == nil {
			k.log.Debug("the sessions that others have left could not be looked at", "err", err) // /health says why
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

func (k *portalCore) retain(ctx context.Context) {
	every := time.NewTicker(retainEvery)
	defer every.Stop()
	for {
		n, err := k.host.DeleteExpired(ctx, k.config.Retention.Age, int64(k.config.Retention.Size)<<20)
		ofJobs, more := k.jobs.DeleteExpiredSessions(ctx)
		if n += ofJobs; n > 0 {
			k.log.Info("old sessions were deleted", "sessions", n)
		}
		err = errors.Join(err, more)
		if err != nil && ctx.Err() == nil {
			k.log.Warn("old sessions could not all be deleted", "err", err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// storageHealth is how it stands with the storage, for GET /health.
type storageHealth struct {
	State   string     `json:"state"` // "ok", "ephemeral" or a kind of failure
	Message string     `json:"message"`
	Since   *time.Time `json:"since,omitempty"`
}

func (s storage) health() storageHealth {
	switch t := s.failure(); {
	case t != nil:
		since := t.Since.UTC()
		return storageHealth{State: string(t.Kind), Message: t.Text, Since: &since}
	case s.store == nil:
		return storageHealth{State: "ephemeral", Message: "sessions are gone when the portal ends, as --ephemeral says"}
	}
	return storageHealth{State: "ok"}
}
