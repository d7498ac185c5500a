package sdk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// openFiles keep what the CLI's tools do to the files of a directory in step with the buffers of clients. Hooks around the calls of the
// tools use them; see hooks.go. A file without a buffer is as without clients.
//
// A client does not say whether its buffer was changed by the user, or is older than the file. So during a run, openFiles remember the text
// that a file and its buffer had in common.
type openFiles struct {
	directory string
	buffer    func(ctx context.Context, path string) (agent.Buffer, bool)
	began     atomic.Int64 // when the run began, in Unix nanoseconds

	mu    sync.Mutex // held during requests to clients, so that no call begins while a buffer is written
	run   int64      // that the files belong to
	files map[string]*openFile
}

// openFile is what is known of a file in a run.
type openFile struct {
	common   *string         // the text that the file and its buffer had in common last; nil if unknown
	calls    int             // calls that may write the file and have not ended
	written  bool            // one of them has
	base     *string         // the text that both the file and the buffer descend from; nil: the buffer must not be written
	rewrites map[string]bool // the new texts of edits that contain the unsaved changes
	unsaved  string          // the buffer's text, which these edits descend from
}

func newOpenFiles(o agent.Opening) *openFiles {
	f := &openFiles{directory: o.Directory, buffer: o.Buffer}
	f.beginRun()
	return f
}

// beginRun forgets what is known of files. It does not block.
func (f *openFiles) beginRun() { f.began.Store(time.Now().UnixNano()) }

// file returns what is known of a file. The caller must hold the lock.
func (f *openFiles) file(path string) *openFile {
	if began := f.began.Load(); began != f.run || f.files == nil {
		f.run, f.files = began, map[string]*openFile{}
	}
	if f.files[path] == nil {
		f.files[path] = &openFile{rewrites: map[string]bool{}}
	}
	return f.files[path]
}

// state is how a buffer relates to its file.
type state int

const (
	absent  state = iota // no client has the file, or it cannot be told which text is newer
	clean                // the buffer is as the file
	unsaved              // the user has changed the buffer
	stale                // the file was changed, and the client has not read it again
)

// texts are a file and its buffer, both as plain text.
type texts struct {
	state  state
	disk   string
	buffer string
	raw    agent.Buffer
}

// look compares a file with its buffer. The caller must hold the lock.
func (f *openFiles) look(ctx context.Context, path string, known *openFile) texts {
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing && (err != nil || !info.Mode().IsRegular() || info.Size() > largestText) {
		return texts{}
	}
	raw, ok := f.buffer(ctx, path)
	if !ok {
		return texts{}
	}
	var content []byte
	if !missing {
		if content, err = os.ReadFile(path); err != nil { //nolint:gosec // a file of the session's directory, which the buffer is of
			return texts{}
		}
	}
	t := texts{raw: raw}
	var plain, plainBuffer bool
	t.disk, plain = plainText(string(content))
	t.buffer, plainBuffer = plainText(raw.Text)
	if plain && plainBuffer {
		t.state = known.compare(t, missing, !missing && info.ModTime().UnixNano() >= f.run)
	}
	return t
}

// largestText is the size of files, in bytes, above which buffers are ignored.
const largestText = 4 << 20

// compare finds out which of both texts is newer. changed says that the file was written since the run began.
func (k *openFile) compare(t texts, missing, changed bool) state {
	switch {
	case t.disk == t.buffer:
		k.common = &t.disk
		return clean
	case missing:
		return absent
	case k.common == nil && changed:
		return absent
	case k.common == nil || *k.common == t.disk:
		k.common = &t.disk
		return unsaved
	case *k.common == t.buffer:
		return stale
	}
	return absent
}

// begin begins a call that may write a file.
func (f *openFiles) begin(ctx context.Context, path string) (k *openFile, t texts) {
	k = f.file(path)
	k.calls++
	t = f.look(ctx, path, k)
	if k.calls == 1 {
		k.written, k.base, k.rewrites = false, nil, map[string]bool{}
		switch t.state {
		case clean, unsaved:
			k.base = &t.disk
		case stale:
			k.base = &t.buffer
		case absent:
		}
	}
	return k, t
}

// end ends a call. When none is left, the buffer gets what was written.
func (f *openFiles) end(ctx context.Context, path string, wrote bool) {
	k := f.file(path)
	k.calls = max(k.calls-1, 0)
	k.written = k.written || wrote
	if k.calls == 0 && k.written {
		k.written = false
		f.give(ctx, path, k)
	}
}

// give gives the buffer what was written to the file, and keeps what the user has changed meanwhile. If both contradict each other, it
// leaves the buffer as it is: clients notice that the file on disk is another one.
func (f *openFiles) give(ctx context.Context, path string, k *openFile) {
	if k.base == nil {
		return
	}
	t := f.look(ctx, path, k)
	if t.raw.Write == nil || t.disk == t.buffer {
		return
	}
	merged, ok := merge(*k.base, t.disk, t.buffer)
	if ok && merged != t.buffer && t.raw.Write(ctx, like(t.raw.Text, merged)) == nil {
		k.common = &merged
	}
}

// refused ends a call that was not permitted.
func (f *openFiles) refused(paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range paths {
		f.end(context.Background(), path, false)
	}
}

// absolute returns the path of a file as the tools understand it.
func (f *openFiles) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.directory, path)
}
