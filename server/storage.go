package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/store"
)

// storage is the data directory. Without one, because it is ephemeral or unusable, sessions live as long as
// the process.
type storage struct {
	store       *store.Store
	fault       *store.Failure     // why it cannot be used
	checkpoints *checkpoint.Stores // nil if there are none
	cluster     *membership        // nil without a cluster
}

// openStorage opens the data directory, unless the configuration says ephemeral. The portal also works if
// that fails; the log and /health say so.
func openStorage(ctx context.Context, c Config, log *slog.Logger) storage {
	s, err := openDataDir(ctx, c, log)
	if err == nil {
		return s
	}
	var fault *store.Failure
	if !errors.As(err, &fault) {
		fault = &store.Failure{Kind: store.Failed, Text: err.Error(), Since: time.Now()}
	}
	log.Error("sessions are not stored and will be lost when the portal stops", "kind", fault.Kind, "error", fault.Text)
	return storage{fault: fault}
}

// openDataDir is like openStorage, but fails if the data directory cannot be used.
func openDataDir(ctx context.Context, c Config, log *slog.Logger) (s storage, err error) {
	if err := c.CheckDataDir(); err != nil {
		return storage{}, err
	}
	switch {
	case c.Ephemeral:
		return storage{}, nil
	case c.Cluster.isOn():
		s.store, s.cluster, err = openClustered(ctx, c, log)
	default:
		s.store, err = store.Open(ctx, store.Options{Directory: c.DataDir, Log: log})
	}
	if err != nil {
		return storage{}, err
	}
	s.checkpoints = newCheckpoints(c, log)
	return s, nil
}

// failure returns what prevents sessions from being stored, or nil.
func (s storage) failure() *store.Failure {
	if s.store == nil {
		return s.fault
	}
	return s.store.Failure()
}

// isStoring reports whether sessions are stored.
func (s storage) isStoring() bool { return s.store != nil && !s.store.Failing() }

// close writes pending data and closes the store.
func (s storage) close(log *slog.Logger) {
	if s.checkpoints != nil {
		s.checkpoints.Close()
	}
	if s.store == nil {
		return
	}
	s.cluster.leave()
	defer s.cluster.close()
	if err := s.store.Close(); err != nil {
		log.Error("some of the latest events could not be stored", "error", err)
	}
}

// retainEvery is the interval at which expired sessions are deleted.
const retainEvery = time.Hour

// recoverEvery is the interval at which sessions of killed processes are recovered. Clients may be waiting
// for the end of their runs.
const recoverEvery = 2 * time.Second

// reviveEvery is the number of those intervals after which questions of suspended sessions are reopened.
const reviveEvery = 15

// recoverSessions recovers sessions of killed processes until ctx is done.
func (k *portalCore) recoverSessions(ctx context.Context) {
	n := 0
	every(ctx, recoverEvery, func() {
		err := k.host.Recover(ctx)
		if n%reviveEvery == 0 {
			err = errors.Join(err, k.host.ReopenQuestions(ctx), k.host.RecoverFiles(ctx))
		}
		n++
		if err != nil && ctx.Err() == nil {
			k.log.Debug("cannot recover sessions of other processes", "err", err) // see /health for the cause
		}
	})
}

// retain deletes expired sessions until ctx is done.
func (k *portalCore) retain(ctx context.Context) {
	every(ctx, retainEvery, func() {
		n, err := k.host.DeleteExpired(ctx, k.config.Retention.Age, int64(k.config.Retention.Size)<<20)
		ofJobs, more := k.jobs.DeleteExpiredSessions(ctx)
		if n += ofJobs; n > 0 {
			k.log.Info("deleted expired sessions", "sessions", n)
		}
		err = errors.Join(err, more, k.host.MaintainCheckpoints(ctx))
		if err != nil && ctx.Err() == nil {
			k.log.Warn("cannot delete all expired sessions", "err", err)
		}
	})
}

// storageHealth is the state of the storage for GET /health.
type storageHealth struct {
	State   string     `json:"state"` // "ok", "ephemeral" or the kind of failure
	Message string     `json:"message"`
	Since   *time.Time `json:"since,omitempty"`
}

func (s storage) health() storageHealth {
	switch t := s.failure(); {
	case t != nil:
		since := t.Since.UTC()
		return storageHealth{State: string(t.Kind), Message: t.Text, Since: &since}
	case s.store == nil:
		return storageHealth{State: "ephemeral", Message: "sessions are lost when the portal stops (--ephemeral)"}
	}
	return storageHealth{State: "ok"}
}
