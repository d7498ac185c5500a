// Package soak_test uses one portal with clients of every dialect for a long time, while it kills the Copilot CLI and
// restarts the portal, and compares what each client received with the record.
package soak_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shortLength is the length in the normal test suite. make soak sets PORTAL_SOAK_LENGTH.
const shortLength = 20 * time.Second

// The pace of a run of at least half an hour. A shorter run has proportionally shorter pauses, but not below the minimum.
const (
	fullLength   = 30 * time.Minute
	killEvery    = time.Minute
	restartEvery = 5 * time.Minute
	sampleEvery  = 15 * time.Second
)

// pause returns a pause of a run of this length.
func pause(length, full, least time.Duration) time.Duration {
	return max(least, time.Duration(float64(full)*min(1, float64(length)/float64(fullLength))))
}

func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("PORTAL_SOAK_LENGTH")
	if text == "" {
		return shortLength
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "PORTAL_SOAK_LENGTH")
	return d
}

// TestNothingIsLostAndNothingIsLeft is the soak test; spec/reliability.md describes it.
func TestNothingIsLostAndNothingIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps two cores busy for a while")
	}
	s := &soak{T: t, length: length(t)}
	s.host = startHost(t)
	s.fresh = s.host.sample(t)
	s.openSessions()
	s.useWith(s.disturb)
	s.compare()
	s.closeSessions()
	s.rest = s.host.awaitRest(t, s.fresh)
	s.left = s.host.stop(s.deleted)
	s.writeReport()
	s.judge()
}

// soak is one run of the soak test.
type soak struct {
	*testing.T

	length   time.Duration
	host     *host
	sessions []*session
	work     *operations
	fresh    sample // before the first client
	samples  []sample
	rest     sample   // after the last client
	deleted  []string // sessions
	left     []string // after the stop
	verdicts []verdict
	prompts  promptCounts
}

// openSessions opens a session, or as many as PORTAL_SOAK_SESSIONS says, in each dialect that can. Clients of all dialects watch each session.
func (s *soak) openSessions() {
	each := 1
	if text := os.Getenv("PORTAL_SOAK_SESSIONS"); text != "" {
		var err error
		each, err = strconv.Atoi(text)
		require.NoError(s, err, "PORTAL_SOAK_SESSIONS")
	}
	for range each {
		for _, d := range dialects() {
			if d.open == nil {
				continue
			}
			id, err := d.open(s.Context(), s.host, s.TempDir())
			require.NoError(s, err, d.name)
			s.sessions = append(s.sessions, newSession(s.host, d, id))
		}
	}
	s.work = &operations{T: s.T, host: s.host, dir: s.TempDir()}
}

// useWith lets clients work until disturb returns.
func (s *soak) useWith(disturb func()) {
	watch, stopWatching := context.WithCancel(s.Context())
	work, stopWorking := context.WithCancel(s.Context())
	dir := s.TempDir()
	var watchers, workers sync.WaitGroup
	for _, one := range s.sessions {
		for _, w := range one.watchers {
			watchers.Go(func() { w.run(watch) })
		}
		workers.Go(func() { one.drive(work) })
	}
	workers.Go(func() { s.work.drive(work) })
	workers.Go(func() { s.deleted = openAndDelete(work, s.host, dir) })
	disturb()
	stopWorking()
	workers.Wait()
	for _, one := range s.sessions {
		one.awaitCaughtUp(s.T)
	}
	stopWatching()
	watchers.Wait()
}

// disturb kills and restarts, and takes samples, until the length is over.
func (s *soak) disturb() {
	ctx, cancel := context.WithTimeout(s.Context(), s.length)
	defer cancel()
	between := pause(s.length, killEvery, 8*time.Second)
	observe := time.NewTicker(pause(s.length, sampleEvery, time.Second))
	defer observe.Stop()
	restart := time.NewTicker(pause(s.length, restartEvery, 7*time.Second))
	defer restart.Stop()
	wait(ctx, between/2) // so that kills and restarts do not coincide
	kill := time.NewTicker(between)
	defer kill.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-observe.C:
			s.samples = append(s.samples, s.host.sample(s.T))
		case <-kill.C:
			s.host.killCLI()
		case <-restart.C:
			s.host.restart()
		}
	}
}

// closeSessions closes all sessions, which ends the Copilot CLI: also those whose clients never learned that they exist, because
// a restart cut the answer off.
func (s *soak) closeSessions() {
	states, err := s.host.states(s.Context())
	require.NoError(s, err)
	for id := range states {
		require.NoError(s, s.host.post(s.Context(), "/api/copilot/session/"+id+"/stop", "", nil))
	}
	s.host.client.CloseIdleConnections()
}
