package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// check rejects what can never be persisted. Other errors show up when persisting.
func (p *Persist) check(directory string) error {
	switch {
	case p == nil:
		return nil
	case p.Message != "" && !p.Commit:
		return fault.Errorf(fault.Invalid, "message requires commit")
	case len(p.Message) > maxMessage || strings.ContainsRune(p.Message, 0):
		return fault.Errorf(fault.Invalid, "the message of the commit must be text of at most %d bytes", maxMessage)
	}
	_, err := resolve(directory, p.Path)
	return err
}

// maxMessage is the maximum length of a commit message, in bytes.
const maxMessage = 10_000

// persisted says where a result was stored.
type persisted struct {
	Path   string `json:"path"`
	Commit string `json:"commit,omitempty"`
}

// persist stores the result as requested, before any client sees that the operation is complete.
func (w *worker) persist(e operationEnd) operationEnd {
	e.text, e.result = w.report.Summary(), w.report.JSON()
	p := w.request.Persist
	if p == nil {
		return e
	}
	location, err := w.write(p.Path)
	if err != nil {
		return notPersisted(err, "Operation failed. No changes persisted.")
	}
	done := persisted{Path: filepath.ToSlash(location)}
	e.text += " The result is saved in " + inlineCode(oneLine(done.Path)) + "."
	if p.Commit {
		done.Commit, err = w.commit(location)
		if err != nil {
			return notPersisted(err, "Operation failed. The result is saved in "+inlineCode(oneLine(done.Path))+", but not committed.")
		}
		e.text = strings.TrimSuffix(e.text, ".") + " and committed as " + done.Commit[:min(10, len(done.Commit))] + "."
	}
	e.result = withLocation(e.result, done)
	return e
}

func notPersisted(err error, text string) operationEnd {
	e := failed("Internal server error: Failed to persist the result: " + reason(err) + ". Please try again or contact support.")
	e.text = text
	return e
}

// reason omits the path of the file: other clients must not see a path that one client named.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return strings.TrimRight(strings.TrimSpace(err.Error()), ".")
}

// withLocation adds the location to a result.
func withLocation(result json.RawMessage, p persisted) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return result
	}
	fields["persisted"], _ = json.Marshal(p)
	out, _ := json.Marshal(fields) // the fields were decoded from JSON
	return out
}

// write atomically writes the result to a file and returns its location.
func (w *worker) write(path string) (location string, err error) {
	location, err = resolve(w.request.Directory, path) // resolved again because links may have changed
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(w.request.Directory)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // closes no files
	mode := fs.FileMode(0o644)
	info, err := root.Stat(location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := root.MkdirAll(filepath.Dir(location), 0o755); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("the path exists and is not a regular file")
	default:
		mode = info.Mode().Perm()
	}
	return location, replace(root, location, w.text(location), mode)
}

// text returns what is written: the result as JSON, or the document.
func (w *worker) text(location string) []byte {
	if !strings.EqualFold(filepath.Ext(location), ".json") {
		return []byte(w.report.Document())
	}
	var out bytes.Buffer
	_ = json.Indent(&out, w.report.JSON(), "", "  ") // the input is valid JSON
	out.WriteByte('\n')
	return out.Bytes()
}

// replace atomically replaces a file.
func replace(root *os.Root, location string, text []byte, mode fs.FileMode) (err error) {
	temporary := filepath.Join(filepath.Dir(location), ".portal-"+uuid.NewString())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temporary, location)
	}
	if err != nil {
		_ = root.Remove(temporary)
	}
	return err
}

// commitTime is the time limit of a commit.
const commitTime = time.Minute

// commit commits only the file, whatever else is staged, and returns the commit. If the file is unchanged, it
// returns the current commit. It runs nothing that the repository defines. The error contains git's output.
func (w *worker) commit(location string) (hash string, err error) {
	message := w.request.Persist.Message
	if message == "" {
		message = "Result of " + string(w.request.Type)
		if w.request.Feature != "" {
			message += " for " + w.request.Feature
		}
	}
	w.host.commits.Lock()
	defer w.host.commits.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	r, err := git.Open(ctx, w.request.Directory)
	if err == nil {
		hash, err = r.Commit(ctx, location, message)
		err = errors.Join(err, r.Close())
	}
	if ctx.Err() != nil {
		return "", fault.Errorf(fault.Timeout, "git took more than %v", commitTime)
	}
	return hash, err
}
