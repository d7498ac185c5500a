package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// Options configure [Stores]. Zero fields take the defaults named.
type Options struct {
	Root  string        // directory of all stores; required
	File  int64         // larger files are not stored, in bytes; 10 MiB
	Files int           // a directory with more files gets no checkpoints; 100,000
	Bytes int64         // nor one with more bytes in them; 1 GiB
	Time  time.Duration // nor one that cannot be read within this time; a minute
	// Collect is how long the garbage of a directory may be collected; less than an hour; 20 minutes.
	Collect time.Duration
	// Missing is how long a session must be missing before [Stores.Keep] removes its checkpoints: its database may come back. 0: at once.
	Missing time.Duration
	// Private is a directory that checkpoints never contain, even if it is in the working directory: the portal's own data.
	// "": Root.
	Private string
	Log     *slog.Logger // nil disables logging
}

func (o Options) withDefaults() Options {
	o.File, o.Files, o.Bytes = cmp.Or(o.File, 10<<20), cmp.Or(o.Files, 100_000), cmp.Or(o.Bytes, 1<<30)
	o.Time, o.Collect = cmp.Or(o.Time, time.Minute), cmp.Or(o.Collect, 20*time.Minute)
	o.Private = cmp.Or(o.Private, o.Root)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Stores are the checkpoints of all directories. They are safe for concurrent use, also by several processes. The
// caller must close them.
type Stores struct {
	options Options
	ctx     context.Context //nolint:containedctx // ends the collection of garbage when the stores close
	stop    context.CancelFunc
	work    sync.WaitGroup // collections of garbage

	mu    sync.Mutex
	byKey map[string]*Store
}

// New returns stores.
func New(o Options) *Stores {
	ctx, stop := context.WithCancel(context.Background())
	return &Stores{options: o.withDefaults(), ctx: ctx, stop: stop, byKey: map[string]*Store{}}
}

// Close ends work in the background and waits for it.
func (s *Stores) Close() {
	s.stop()
	s.work.Wait()
}

// Of returns the store of a directory. Errors: [fault.ErrDirectoryNotFound].
func (s *Stores) Of(directory string) (*Store, error) {
	path, err := filepath.EvalSymlinks(directory)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, gone(directory)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, gone(directory)
	}
	return s.at(keyOf(path), path), nil
}

func gone(directory string) error {
	return fault.Errorf(fault.Invalid, "%w: %s", fault.ErrDirectoryNotFound, directory)
}

// keyOf returns the name of a directory's store.
func keyOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

func (s *Stores) at(key, directory string) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] == nil {
		s.byKey[key] = &Store{stores: s, directory: directory, dir: filepath.Join(s.options.Root, key), turn: make(chan struct{}, 1), finder: git.Finder{Directory: directory}}
	}
	return s.byKey[key]
}

// all returns the stores on disk.
func (s *Stores) all() []*Store {
	entries, err := os.ReadDir(s.options.Root)
	if err != nil {
		return nil // there are none yet
	}
	var list []*Store
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.options.Root, e.Name(), directoryFile))
		if path := string(text); err == nil && keyOf(path) == e.Name() {
			list = append(list, s.at(e.Name(), path))
		}
	}
	return list
}

// Recover completes the plans that killed processes left, and calls record with what they restored. What it returns an error for comes
// again the next time. A store that another process uses is left to that process.
func (s *Stores) Recover(ctx context.Context, record func(Restored) error) error {
	var faults []error
	for _, store := range s.all() {
		if _, err := os.Stat(store.planFile()); err == nil {
			faults = append(faults, store.recover(ctx))
		}
		faults = append(faults, store.recordRestored(record))
	}
	return errors.Join(faults...)
}
