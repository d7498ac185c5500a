package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/atomicfile"
	"github.com/copilot-portal/portal/copilot/flock"
	"github.com/copilot-portal/portal/copilot/git"
)

// collectEvery is how often the garbage of a store is collected at most.
const (
	collectEvery = 24 * time.Hour
	stampFile    = "collected"
	missingFile  = "missing.json" // see [missing]
)

// Keep removes the checkpoints of all sessions that keep has rejected for [Options.Missing], and stores of directories that have none left.
// A store that is in use stays until the next time.
func (s *Stores) Keep(ctx context.Context, keep func(session string) bool) error {
	var faults []error
	for _, store := range s.all() {
		faults = append(faults, store.keepIdle(ctx, keep))
	}
	return errors.Join(faults...)
}

// idleTime is how long [Stores.Keep] waits for a store.
const idleTime = time.Second

// keepIdle cleans up a store that is not in use. A collection of garbage goes on.
func (s *Store) keepIdle(ctx context.Context, keep func(session string) bool) error {
	limited, cancel := context.WithTimeout(ctx, idleTime)
	defer cancel()
	release, err := s.takeTurn(limited, s.lockFree)
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return err
	}
	defer release()
	m := s.readMissing()
	if err := s.keep(ctx, func(session string) bool { return m.keeps(session, keep) }); err != nil {
		return err // it may not have come to all of them
	}
	return m.write(s.path(missingFile))
}

// missing are the sessions that [Stores.Keep] is going to forget.
type missing struct {
	before map[string]time.Time // since when each is missing, as last found
	now    map[string]time.Time
	kept   map[string]bool // what was decided
	time   time.Duration   // after which they are forgotten
}

func (s *Store) readMissing() missing {
	m := missing{map[string]time.Time{}, map[string]time.Time{}, map[string]bool{}, s.stores.options.Missing}
	if data, err := os.ReadFile(s.path(missingFile)); err == nil {
		_ = json.Unmarshal(data, &m.before) // otherwise they are missing from now on
	}
	return m
}

// keeps reports whether the checkpoints of a session stay.
func (m missing) keeps(session string, keep func(string) bool) bool {
	kept, known := m.kept[session]
	if known {
		return kept
	}
	if kept = keep(session); !kept {
		since, known := m.before[session]
		if !known {
			since = time.Now()
		}
		if kept = time.Since(since) < m.time; kept {
			m.now[session] = since
		}
	}
	m.kept[session] = kept
	return kept
}

// write stores which sessions are missing.
func (m missing) write(file string) error {
	if maps.Equal(m.before, m.now) {
		return nil
	}
	data, err := json.Marshal(m.now)
	if err != nil {
		return err
	}
	return atomicfile.Replace(file, data)
}

// Forget removes the checkpoints of a session.
func (s *Store) Forget(ctx context.Context, session string) error {
	if _, err := os.Stat(s.dir); err != nil {
		return nil // it has none
	}
	release, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return s.keep(ctx, func(other string) bool { return other != session })
}

// keep removes the checkpoints that keep rejects. The caller has the turn.
func (s *Store) keep(ctx context.Context, keep func(session string) bool) error {
	_, noGit := os.Stat(s.path("git"))
	if _, noPlan := os.Stat(s.planFile()); noGit != nil && noPlan != nil {
		return s.empty() // git would create its directory again
	}
	shadow, err := s.openShadow(ctx, s.dir, git.Place{Top: s.dir})
	if err != nil {
		return err
	}
	out, err := shadow.Run(ctx, git.Call{Args: []string{"for-each-ref", "--format=%(refname)", refs}})
	if err != nil {
		return err
	}
	var deletions strings.Builder
	kept := s.keepsPlan(keep)
	for ref := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		part, _, _ := strings.Cut(strings.TrimPrefix(ref, refs), "/")
		switch {
		case ref == "":
		case keep(fromRef(part)):
			kept = true
		default:
			deletions.WriteString("delete " + ref + "\n")
		}
	}
	if !kept {
		return s.empty()
	}
	if deletions.Len() == 0 {
		return nil
	}
	if _, err = shadow.Run(ctx, git.Call{Args: []string{"update-ref", "--stdin"}, Input: strings.NewReader(deletions.String())}); err != nil {
		return err
	}
	return os.Chtimes(s.path(stampFile), time.Time{}, time.Unix(0, 0)) // the next checkpoint collects garbage
}

// keepsPlan reports whether there is a plan that must be completed.
func (s *Store) keepsPlan(keep func(session string) bool) bool {
	p, err := s.readPlan()
	if err != nil {
		return !errors.Is(err, errDamaged)
	}
	return p != nil && keep(p.Restored.Session)
}

// empty removes everything but the locks, which others may wait for.
func (s *Store) empty() error {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if name := e.Name(); name != lockFile && name != waitingFile && name != directoryFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, name)))
		}
	}
	return err
}

// collect collects the garbage of a store in the background, if that was long ago. The next operation of the store, in any process,
// interrupts it.
func (s *Stores) collect(store *Store) {
	if info, err := os.Stat(store.path(stampFile)); err == nil && time.Since(info.ModTime()) < collectEvery {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.options.Collect)
	if !store.startYielding(cancel) {
		cancel()
		return
	}
	s.work.Go(func() { store.yieldToOthers(ctx, cancel) })
	s.work.Go(func() {
		defer store.stopYielding()
		err := store.collectNow(ctx)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			s.options.Log.Warn("cleaning up checkpoints takes too long and is tried again in a day", "directory", store.directory, "limit", s.options.Collect)
			err = store.stamp()
		}
		if err != nil && ctx.Err() == nil {
			s.options.Log.Warn("cannot clean up checkpoints", "directory", store.directory, "err", err)
		}
	})
}

// stamp keeps garbage from being collected again for a while.
func (s *Store) stamp() error { return atomicfile.Replace(s.path(stampFile), nil) }

// yieldEvery is how often a collection of garbage looks for processes that wait.
const yieldEvery = 100 * time.Millisecond

// yieldToOthers ends a collection of garbage when another process waits for the store; it returns when ctx ends.
func (s *Store) yieldToOthers(ctx context.Context, end context.CancelFunc) {
	again := time.NewTicker(yieldEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		if s.isAwaited() {
			end()
		}
	}
}

// isAwaited reports whether another process waits for the store; see [Store.lockFirst].
func (s *Store) isAwaited() bool {
	atOnce, cancel := context.WithCancel(context.Background())
	cancel()
	file, err := flock.Lock(atOnce, s.path(waitingFile))
	if err != nil {
		return true
	}
	_ = file.Close()
	return false
}

// startYielding lets operations cancel the collection of garbage; false if one is in progress, or an operation waits.
func (s *Store) startYielding(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yield != nil || s.waiting > 0 {
		return false
	}
	s.yield = cancel
	return true
}

func (s *Store) stopYielding() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yield()
	s.yield = nil
}

// pruneAfter is the age at which objects without a reference are removed. A younger one may be in use if, against all
// precautions, an operation is in progress.
const pruneAfter = "1.hour.ago"

func (s *Store) collectNow(ctx context.Context) error {
	release, err := s.takeTurn(ctx, s.lockFree)
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(s.planFile()); err == nil {
		return nil // its objects have no references yet
	}
	s.removeLeft()
	shadow, err := s.openShadow(ctx, s.dir, git.Place{Top: s.dir})
	if err != nil {
		return err
	}
	gc := git.Call{Index: s.path(indexFile), Args: []string{"-c", "pack.threads=1", "gc", "--quiet", "--force", "--prune=" + pruneAfter}} // keeps what the index has
	if _, err := shadow.Run(ctx, gc); err != nil {
		return err
	}
	return s.stamp()
}

// removeLocks removes locks of killed processes of git, which block all others. The caller has the turn, so no other process
// works there.
func (s *Store) removeLocks() {
	var left []string
	for _, pattern := range []string{"*.lock", "packed-refs.new", "objects/info/*.lock", "objects/info/commit-graphs/*.lock", "objects/pack/*.lock"} {
		found, _ := filepath.Glob(filepath.Join(s.path("git"), pattern))
		left = append(left, found...)
	}
	_ = filepath.WalkDir(s.path("git/refs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".lock" {
			left = append(left, path)
		}
		return nil // there are none yet
	})
	for _, name := range left {
		_ = os.Remove(name)
	}
}

// removeLeft removes temporary files of killed processes.
func (s *Store) removeLeft() {
	for _, pattern := range []string{"index.*", "edited.*", "merge-*", "rules-*", "new-*", "git/objects/pack/tmp_*", "git/objects/pack/.tmp-*"} {
		left, _ := filepath.Glob(s.path(pattern))
		for _, name := range left {
			_ = os.RemoveAll(name)
		}
	}
}
