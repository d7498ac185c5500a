package checkpoint

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/atomicfile"
	"github.com/copilot-portal/portal/copilot/git"
)

// Checkpoint is a stored state of a directory.
type Checkpoint struct {
	Session   string
	Name      string // unique in its session
	Time      time.Time
	Uncovered []Uncovered // what it does not contain; at most 1,000

	more    bool   // it does not contain other files, either
	commit  string // "" if it was assembled
	tree    string // as git takes it; "" for the present state
	perms   map[string]fs.FileMode
	action  *Restored // of the checkpoint that follows a restore
	outside *outside  // nil: unknown
	parts   []Span    // that it was assembled from
}

// note is what the commit of a checkpoint says.
type note struct {
	Name      string                 `json:"name"`
	Time      time.Time              `json:"time"`
	Uncovered []Uncovered            `json:"uncovered,omitempty"`
	More      bool                   `json:"more,omitempty"`
	Perms     map[string]fs.FileMode `json:"perms,omitempty"`
	Action    *Restored              `json:"action,omitempty"`
	Outside   *outside               `json:"outside,omitempty"`
}

// Take stores the current state of the directory under a name of a session. It replaces a checkpoint of this name.
// Errors: kind [fault.Unavailable] if the directory can have no checkpoints; that of ctx.
func (s *Store) Take(ctx context.Context, session, name string) (Checkpoint, error) {
	u, end, err := s.begin(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	defer end()
	now, err := u.snapshot(ctx)
	if err != nil {
		return Checkpoint{}, unavailable(err)
	}
	c, err := u.commit(ctx, session, name, now)
	if err == nil {
		err = u.setRef(c)
	}
	if err != nil {
		return Checkpoint{}, unavailable(err)
	}
	s.stores.collect(s)
	return c, nil
}

// commit stores a snapshot, without a reference.
func (u *use) commit(ctx context.Context, session, name string, now snapshot) (Checkpoint, error) {
	c := Checkpoint{Session: session, Name: name, Time: u.nextTime(ctx), Uncovered: now.Uncovered, more: now.More, perms: now.Perms, outside: u.outside().stored(), tree: now.Tree}
	var err error
	c.commit, err = u.commitTree(ctx, now.Tree, c)
	return c, err
}

// behindStep is the time between checkpoints while the clock is behind: git sorts them by seconds, so few may have the same one.
const behindStep = 100 * time.Millisecond

// nextTime returns the current time, but a later one than that of the newest checkpoint: their order must not depend on the clock.
func (u *use) nextTime(ctx context.Context) time.Time {
	if u.lastTime.IsZero() {
		newest, _ := u.newest(ctx) // without it, the clock must do
		u.lastTime = newest.Time
	}
	now := time.Now()
	if !now.After(u.lastTime) {
		now = u.lastTime.Add(behindStep)
	}
	u.lastTime = now
	return now
}

// commitTree creates the commit of a checkpoint.
func (u *use) commitTree(ctx context.Context, tree string, c Checkpoint, parents ...string) (string, error) {
	text, err := json.Marshal(note{c.Name, c.Time, c.Uncovered, c.more, c.perms, c.action, c.outside})
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return u.call(ctx, git.Call{Args: args, Input: strings.NewReader(string(text)), Time: c.Time})
}

// refs is where the checkpoints are.
const refs = "refs/portal/"

var plainName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// refName returns text as a part of a reference.
func refName(text string) string {
	if plainName.MatchString(text) && !strings.HasPrefix(text, "-") {
		return text
	}
	return "_" + hex.EncodeToString([]byte(text))
}

// fromRef reverses refName.
func fromRef(part string) string {
	if text, ok := strings.CutPrefix(part, "_"); ok {
		if raw, err := hex.DecodeString(text); err == nil {
			return string(raw)
		}
	}
	return part
}

// setRef makes a checkpoint part of its session, as git update-ref does. The file is renamed from elsewhere, because git would take one
// that a killed process leaves beside the references for one of them.
func (u *use) setRef(c Checkpoint) error {
	name := filepath.Join(u.path("git"), filepath.FromSlash(refs), refName(c.Session), refName(c.Name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	complete := u.path("ref")
	if err := atomicfile.Replace(complete, []byte(c.commit+"\n")); err != nil {
		return err
	}
	return os.Rename(complete, name)
}

// checkpoints returns the checkpoints of a session, oldest first.
func (u *use) checkpoints(ctx context.Context, session string) ([]Checkpoint, error) {
	out, err := u.run(ctx, "for-each-ref", "--format="+refFormat, refs+refName(session)+"/")
	var failed *git.Error
	if errors.As(err, &failed) { // the objects of some are missing
		u.stores.options.Log.Warn("some checkpoints cannot be read", "directory", u.directory, "session", session, "err", err)
		out, err = u.readable(ctx, session)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	list := slices.Collect(parseCheckpoints(session, out))
	slices.SortStableFunc(list, func(a, b Checkpoint) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return list, nil
}

// refFormat is what [parseCheckpoints] parses, for git for-each-ref.
const refFormat = "%(objectname) %(tree) %(contents)"

// parseCheckpoints yields checkpoints from lines of git.
func parseCheckpoints(session, lines string) iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		for line := range strings.SplitSeq(lines, "\n") {
			commit, rest, _ := strings.Cut(line, " ")
			tree, text, _ := strings.Cut(rest, " ")
			var n note
			if json.Unmarshal([]byte(text), &n) == nil && !yield(Checkpoint{session, n.Name, n.Time, n.Uncovered, n.More, commit, tree, n.Perms, n.Action, n.Outside, nil}) {
				return
			}
		}
	}
}

// readable returns the commits of a session that are there, and what they say.
func (u *use) readable(ctx context.Context, session string) (string, error) {
	out, err := u.run(ctx, "for-each-ref", "--format=%(objectname)", refs+refName(session)+"/")
	if err != nil || out == "" {
		return "", err
	}
	return u.call(ctx, git.Call{Args: []string{"log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H %T %B"}, Input: strings.NewReader(out + "\n")})
}
