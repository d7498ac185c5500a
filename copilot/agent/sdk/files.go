package sdk

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/workspace"
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
	common  *sum // of the text that the file and its buffer had in common last; nil if unknown
	calls   int  // calls that may write the file and have not ended
	written bool // one of them has
	pending      // of these calls
}

type sum = [sha256.Size]byte

// pending is what the calls that have not ended begin with.
type pending struct {
	base    *string // the text that both the file and the buffer descend from; nil: the buffer must not be written
	unsaved string  // the text of the buffer, if an edit contains it
	edit    string  // the new text of that edit; "" if there is none
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
		f.files[path] = &openFile{}
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

// texts are a file and its buffer.
type texts struct {
	state        state
	disk, buffer string // plain
	raw          agent.Buffer
}

// compareFile compares a file with its buffer. The caller must hold the lock.
func (f *openFiles) compareFile(ctx context.Context, path string, known *openFile) texts {
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > largestText) {
		return texts{} // not worth a request
	}
	raw, ok := f.buffer(ctx, path)
	if !ok {
		return texts{}
	}
	content, modified, err := workspace.ReadWhole([]string{f.directory, permission.Canonical(f.directory)}, path, largestText)
	missing := fault.KindOf(err) == fault.NotFound
	disk, plain := plainText(string(content))
	buffer, plainBuffer := plainText(raw.Text)
	if err != nil && !missing || !plain || !plainBuffer {
		return texts{}
	}
	state := known.compare(disk, buffer, missing, modified.UnixNano() >= f.run)
	return texts{state, disk, buffer, raw}
}

// largestText is the size of files, in bytes, above which buffers are ignored.
const largestText = 4 << 20

// compare finds out which of both texts is newer. changed says that the file was written since the run began.
func (k *openFile) compare(disk, buffer string, missing, changed bool) state {
	onDisk, inBuffer := sha256.Sum256([]byte(disk)), sha256.Sum256([]byte(buffer))
	switch {
	case onDisk == inBuffer:
		k.common = &onDisk
		return clean
	case missing, k.common == nil && changed:
		return absent
	case k.common == nil || *k.common == onDisk:
		k.common = &onDisk
		return unsaved
	case *k.common == inBuffer:
		return stale
	}
	return absent
}

// begin begins a call that may write a file.
func (f *openFiles) begin(ctx context.Context, path string) (k *openFile, t texts) {
	k = f.file(path)
	k.calls++
	t = f.compareFile(ctx, path, k)
	if k.calls == 1 {
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
	if k.calls > 0 {
		return
	}
	if k.written && k.base != nil {
		f.updateBuffer(ctx, path, k)
	}
	k.written, k.pending = false, pending{}
}

// updateBuffer gives the buffer what was written to the file, and keeps what the user has changed meanwhile. If both contradict each other, it
// leaves the buffer as it is: clients notice that the file on disk is another one.
func (f *openFiles) updateBuffer(ctx context.Context, path string, k *openFile) {
	t := f.compareFile(ctx, path, k)
	if t.raw.Write == nil || t.disk == t.buffer {
		return
	}
	merged, ok := merge(*k.base, t.disk, t.buffer)
	if ok && merged != t.buffer && t.raw.Write(ctx, withFormatOf(t.raw.Text, merged)) == nil {
		common := sha256.Sum256([]byte(merged))
		k.common = &common
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
