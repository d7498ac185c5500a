package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/atomicfile"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// step replaces the content of one file.
type step struct {
	Path string      `json:"path"`
	From Entry       `json:"from,omitzero"`
	To   Entry       `json:"to,omitzero"`
	Perm fs.FileMode `json:"perm,omitempty"` // of a file that does not exist; 0: the usual ones
}

// plan is what brings files back. It is on disk from before the first step until after the last one.
type plan struct {
	Restored Restored `json:"restored"`
	After    string   `json:"after"` // commit of the checkpoint that records it; its parent is the state before
	Steps    []step   `json:"steps"`
	Applied  bool     `json:"applied,omitempty"` // the steps were taken: a second time, they would undo what users did since
}

func (s *Store) planFile() string { return s.path("plan.json") }

// temp returns the name of the temporary file for a step, in the directory of its file.
func (p *plan) temp(i int) string {
	return filepath.Join(filepath.Dir(filepath.FromSlash(p.Steps[i].Path)), fmt.Sprintf(".portal-%s-%d", p.Restored.ID, i))
}

// execute carries out steps, which start at the present state, and stores the states before and after, so that they can
// be undone. Nothing changes if a step is impossible: an error of kind [fault.Busy] names the files.
func (u *use) execute(ctx context.Context, a Action, id string, now snapshot, steps []step) (Restored, error) {
	r := Restored{Action: a, Time: u.nextTime(ctx)}
	if len(steps) == 0 {
		return r, nil
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.Path, b.Path) })
	r.ID, r.Count = id, len(steps)
	for _, s := range steps[:min(len(steps), maxFiles)] {
		r.Files = append(r.Files, File{s.Path, s.To == Entry{}})
	}
	if err := u.canApply(steps); err != nil {
		return Restored{}, err
	}
	u.notePerms(&now, steps)
	p := &plan{Restored: r, Steps: steps}
	var err error
	if p.After, err = u.record(ctx, p, now); err != nil {
		return Restored{}, unavailable(err)
	}
	if err := u.writePlan(p); err != nil {
		return Restored{}, unavailable(err)
	}
	err = u.complete(context.WithoutCancel(ctx), p)
	return p.Restored, err
}

// notePerms adds the permissions of the files that are going to be deleted, which may be newer than their contents.
func (u *use) notePerms(now *snapshot, steps []step) {
	now.Perms = maps.Clone(now.Perms)
	if now.Perms == nil {
		now.Perms = map[string]fs.FileMode{}
	}
	for _, s := range steps {
		info, err := os.Lstat(filepath.Join(u.directory, filepath.FromSlash(s.Path)))
		if err == nil && info.Mode().IsRegular() && !isUsual(now.Perms, info.Mode().Perm()) && len(now.Perms) < maxPerms {
			now.Perms[s.Path] = info.Mode().Perm()
		}
	}
}

// record stores the state before and after a plan.
func (u *use) record(ctx context.Context, p *plan, now snapshot) (commit string, err error) {
	c := Checkpoint{Session: p.Restored.Session, Name: p.Restored.ID, Time: p.Restored.Time, Uncovered: now.Uncovered, perms: now.Perms}
	before, err := u.commitTree(ctx, now.Tree, c)
	if err != nil {
		return "", err
	}
	files := map[string]Entry{}
	for _, s := range p.Steps {
		files[s.Path] = s.To
	}
	tree, err := u.edited(ctx, now.Tree, files)
	if err != nil {
		return "", err
	}
	c.action = &p.Restored
	return u.commitTree(ctx, tree, c, before)
}

// edited returns a tree in which files have other contents; the zero Entry removes a file.
func (u *use) edited(ctx context.Context, tree string, files map[string]Entry) (string, error) {
	index := u.path(fmt.Sprintf("edited.%d.%d", os.Getpid(), time.Now().UnixNano()))
	defer os.Remove(index) //nolint:errcheck // it is harmless
	if _, err := u.call(ctx, git.Call{Index: index, Args: []string{"read-tree", tree}}); err != nil {
		return "", err
	}
	var removals, additions strings.Builder
	for path, e := range files {
		_, _ = fmt.Fprintf(&removals, "0 %s\t%s\x00", strings.Repeat("0", 40), path) // all of them first, so that a file can become a directory
		if (e != Entry{}) {
			_, _ = fmt.Fprintf(&additions, "%s %s\t%s\x00", e.Mode, e.Object, path)
		}
	}
	input := strings.NewReader(removals.String() + additions.String())
	if _, err := u.call(ctx, git.Call{Index: index, Input: input, Args: []string{"update-index", "-z", "--index-info"}}); err != nil {
		return "", err
	}
	return u.call(ctx, git.Call{Index: index, Args: []string{"write-tree"}})
}

// complete carries out a plan that is on disk, from wherever it was interrupted.
func (u *use) complete(ctx context.Context, p *plan) error {
	if !p.Applied {
		if err := u.apply(ctx, p); err != nil {
			return unavailable(err)
		}
		p.Applied = true
		_ = u.writePlan(p) // without it, the restore is done all the same
	}
	c := Checkpoint{Session: p.Restored.Session, Name: p.Restored.ID, commit: p.After}
	if err := u.setRef(c); err != nil {
		return unavailable(err)
	}
	return os.Remove(u.planFile())
}

func (s *Store) writePlan(p *plan) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Replace(s.planFile(), data)
}

// readPlan returns the plan on disk, or nil if there is none. Errors: errDamaged; it cannot be read.
func (s *Store) readPlan() (*plan, error) {
	data, err := os.ReadFile(s.planFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if p.Restored.Session == "" || p.Restored.ID == "" || p.After == "" {
		return nil, errDamaged
	}
	return &p, nil
}

var errDamaged = errors.New("the plan is damaged")

// completePlan completes the plan of a killed process, if there is one. One that makes no sense is set aside.
func (u *use) completePlan(ctx context.Context) error {
	p, err := u.readPlan()
	if errors.Is(err, errDamaged) {
		aside := u.path("plan.damaged.json")
		u.stores.options.Log.Error("restored files are incomplete", "directory", u.directory, "file", aside, "err", err)
		return os.Rename(u.planFile(), aside)
	}
	if p == nil || err != nil {
		return err
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if err := u.complete(ctx, p); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.restored = append(u.restored, p.Restored)
	return nil
}

// recoverTime limits the recovery of one store, which a living process may use. graceTime is how long recovery goes on when
// its caller goes away.
const (
	recoverTime = 30 * time.Second
	graceTime   = time.Second
)

// withGrace returns a context that ends a while after ctx, so that what is nearly done gets done. The caller must cancel it.
func withGrace(ctx context.Context) (later context.Context, cancel func()) {
	later, end := context.WithTimeout(context.WithoutCancel(ctx), recoverTime)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(graceTime):
			end()
		case <-later.Done():
		}
	})
	return later, func() {
		stop()
		end()
	}
}

// recover completes the plan of a killed process. The plan of a directory that is missing stays: it may come back.
func (s *Store) recover(ctx context.Context) error {
	if _, err := os.Stat(s.directory); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	_, end, err := s.begin(ctx)
	if err == nil {
		end()
	}
	return err
}

// recordRestored calls record with what operations of this store completed for killed processes, until it succeeds.
func (s *Store) recordRestored(record func(Restored) error) error {
	s.mu.Lock()
	list := s.restored
	s.restored = nil
	s.mu.Unlock()
	var left []Restored
	var faults []error
	for _, r := range list {
		if err := record(r); err != nil {
			left, faults = append(left, r), append(faults, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restored = append(left, s.restored...)
	return errors.Join(faults...)
}

// conflict names files that cannot be changed.
func conflict(why string, paths []string) error {
	const most = 10
	slices.Sort(paths)
	paths = slices.Compact(paths)
	names := make([]string, 0, most)
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, fmt.Sprintf("%q", p))
	}
	more := ""
	if n := len(paths) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fault.Errorf(fault.Busy, "%w: %s: %s%s", ErrConflict, why, strings.Join(names, ", "), more)
}

// ErrConflict reports that files cannot be brought back because of what has changed since. Nothing has changed.
var ErrConflict = &fault.Error{Kind: fault.Busy, Text: "nothing was changed"}
