package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/atomicfile"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/flock"
	"github.com/copilot-portal/portal/copilot/git"
)

// Files of a store.
const (
	directoryFile = "directory"  // the directory that it belongs to
	indexFile     = "index"      // git's index of the last snapshot
	topFile       = "top"        // the top of the work tree that the index belongs to
	permsFile     = "perms.json" // permissions that git does not store
	lockFile      = "lock"       // of the operation in progress
	waitingFile   = "waiting"    // locked by the next operation while it waits for lockFile
)

// Store holds the checkpoints of one directory. It is safe for concurrent use: operations take turns, also among
// processes.
type Store struct {
	stores    *Stores
	directory string // without symbolic links
	dir       string
	turn      chan struct{} // holds a token while an operation is in progress
	lock      *os.File      // held by the operation that has the turn
	written   writtenTree   // of the last snapshot; belongs to the operation that has the turn
	lastTime  time.Time     // of a checkpoint; likewise
	finder    git.Finder    // of the directory; likewise

	mu          sync.Mutex
	yield       context.CancelFunc // ends the collection of garbage in progress, if any
	waiting     int                // operations that wait for the turn
	refused     error              // why the last snapshot failed for a reason that stays for a while
	retryAt     time.Time
	restored    []Restored // completed by this store before [Stores.Recover] looked
	comparisons comparisons
}

// Directory returns the directory, without symbolic links.
func (s *Store) Directory() string { return s.directory }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// use is one operation of a store.
type use struct {
	*Store
	shadow  *git.Shadow
	place   git.Place
	private string // the portal's own data, relative to the directory; "" if it is elsewhere
}

// errors of git that mean that there are no checkpoints.
func unavailable(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fault.Errorf(fault.Unavailable, "there are no checkpoints because git is not installed: install git 2.32 or newer")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), fault.KindOf(err) != fault.Internal:
		return err
	}
	return fault.Errorf(fault.Unavailable, "the checkpoints cannot be used: %w", err)
}

// begin starts an operation when all others have ended, after it has completed what a killed process left. The caller
// must call end.
func (s *Store) begin(ctx context.Context) (u *use, end func(), err error) {
	end, err = s.acquire(ctx)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	u = &use{Store: s}
	if u.place, err = s.finder.Find(ctx); err == nil {
		u.excludePrivate()
		u.shadow, err = s.openShadow(ctx, s.directory, u.place)
	}
	if err == nil {
		err = u.completePlan(ctx)
	}
	if err != nil {
		end()
		return nil, nil, unavailable(err)
	}
	return u, end, nil
}

// isPrivate reports whether a path belongs to the portal's own data.
func (u *use) isPrivate(p string) bool {
	return u.private != "" && (p == u.private || strings.HasPrefix(p, u.private+"/"))
}

// excludePrivate excludes the portal's own data. The rule saves reading it; other rules may override it, so paths are checked,
// too.
func (u *use) excludePrivate() {
	private, err := filepath.EvalSymlinks(u.stores.options.Private)
	if err != nil {
		return
	}
	if below, err := filepath.Rel(u.place.Top, private); err == nil && filepath.IsLocal(below) {
		escaped := regexp.MustCompile(`[\\*?\[\] ]`).ReplaceAllString(filepath.ToSlash(below), `\$0`)
		u.place.Excludes = append(u.place.Excludes, "\n/"+escaped+"\n"...)
	}
	if below, err := filepath.Rel(u.directory, private); err == nil && below != "." && filepath.IsLocal(below) {
		u.private = filepath.ToSlash(below)
	}
}

// openShadow returns the store's git directory. Its processes hold the lock.
func (s *Store) openShadow(ctx context.Context, directory string, p git.Place) (*git.Shadow, error) {
	shadow, err := git.NewShadow(ctx, s.path("git"), directory, p)
	if err == nil {
		shadow.Hold(s.lock)
	}
	return shadow, err
}

// acquire waits for the turn, which a collection of garbage gives up, also in another process.
func (s *Store) acquire(ctx context.Context) (release func(), err error) {
	s.startWaiting()
	release, err = s.takeTurn(ctx, s.lockFirst)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	return release, err
}

func (s *Store) startWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	if s.yield != nil {
		s.yield()
	}
}

// lockFirst locks the store against other processes. A collection of garbage ends for it.
func (s *Store) lockFirst(ctx context.Context) (*os.File, error) {
	waiting, err := flock.Lock(ctx, s.path(waitingFile))
	if err != nil {
		return nil, err
	}
	defer waiting.Close() //nolint:errcheck // it is empty
	return s.lockFree(ctx)
}

// lockFree locks the store against other processes when none uses it.
func (s *Store) lockFree(ctx context.Context) (*os.File, error) {
	return flock.Lock(ctx, s.path(lockFile))
}

// takeTurn waits until no other operation is in progress in this process, creates the store if necessary, and waits for other
// processes with lock.
func (s *Store) takeTurn(ctx context.Context, lock func(context.Context) (*os.File, error)) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err = s.create(); err == nil {
		s.lock, err = lock(ctx)
	}
	if err != nil {
		<-s.turn
		return nil, err
	}
	s.removeLocks()
	return func() {
		_ = s.lock.Close()
		s.lock = nil
		<-s.turn
	}, nil
}

func (s *Store) create() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return errors.Join(s.writeOnce(directoryFile, s.directory), s.writeOnce(stampFile, ""))
}

// writeOnce writes a file that does not exist yet.
func (s *Store) writeOnce(name, text string) error {
	if _, err := os.Stat(s.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Replace(s.path(name), []byte(text))
}

// run runs git and returns its output without the final line break.
func (u *use) run(ctx context.Context, args ...string) (string, error) {
	return u.call(ctx, git.Call{Args: args})
}

func (u *use) call(ctx context.Context, c git.Call) (string, error) {
	out, err := u.shadow.Run(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

// withIndex runs do with an index that no other process uses, and keeps it unless git fails. A copy would not do: git
// compares the time of the index with those of files. So an index is lost if the process is killed, and the next
// snapshot reads all files.
func (u *use) withIndex(ctx context.Context, do func(index string) error) error {
	index := u.path(fmt.Sprintf("index.%d.%d", os.Getpid(), time.Now().UnixNano()))
	if top, err := os.ReadFile(u.path(topFile)); err != nil || string(top) != u.place.Top {
		_ = os.Remove(u.path(indexFile))
		if err := atomicfile.Replace(u.path(topFile), []byte(u.place.Top)); err != nil {
			return err
		}
	}
	err := os.Rename(u.path(indexFile), index)
	if errors.Is(err, fs.ErrNotExist) {
		err = u.seed(ctx, index)
	}
	if err == nil {
		err = do(index)
	}
	_ = os.Remove(index + ".lock")
	if err != nil && ctx.Err() == nil { // the index may be the reason; git leaves a valid one when it is ended
		_ = os.Remove(index)
		return err
	}
	if renamed := os.Rename(index, u.path(indexFile)); err == nil && !errors.Is(renamed, fs.ErrNotExist) {
		err = renamed
	}
	return err
}

// seed fills an index that was lost with the newest checkpoint. In an empty one, files that are excluded by now would be missing,
// as if they were deleted.
func (u *use) seed(ctx context.Context, index string) error {
	newest, err := u.newest(ctx)
	if err != nil || newest.tree == "" {
		return err
	}
	read := append(append([]string{"read-tree"}, u.prefix()...), newest.tree)
	if _, err = u.call(ctx, git.Call{Index: index, Args: read}); err == nil {
		_, err = u.call(ctx, git.Call{Index: index, Args: []string{"update-index", "-q", "--refresh"}, Expect: []int{1}}) // else git reads all files each time
	}
	if err != nil && ctx.Err() == nil {
		u.stores.options.Log.Warn("checkpoints start without the files of earlier ones", "directory", u.directory, "err", err)
		_ = os.Remove(index)
		return nil
	}
	return err
}

// prefix returns the option of git that names the directory below the top of the work tree; none if it is the top.
func (u *use) prefix() []string {
	below, err := filepath.Rel(u.place.Top, u.directory)
	if err != nil || below == "." {
		return nil
	}
	return []string{"--prefix=" + filepath.ToSlash(below) + "/"}
}

// newest returns the newest checkpoint of all sessions; the zero Checkpoint if there is none that can be read.
func (u *use) newest(ctx context.Context) (newest Checkpoint, err error) {
	if !exists(u.path("git/refs/portal")) && !exists(u.path("git/packed-refs")) {
		return newest, nil
	}
	const sameSecond = "20" // git's times are seconds; see behindStep
	out, err := u.run(ctx, "for-each-ref", "--sort=-committerdate", "--count="+sameSecond, "--format="+refFormat, refs)
	if err != nil {
		return newest, ctx.Err()
	}
	for c := range parseCheckpoints("", out) {
		if c.Time.After(newest.Time) {
			newest = c
		}
	}
	return newest, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
