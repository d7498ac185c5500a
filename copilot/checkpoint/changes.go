package checkpoint

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// Status is what happened to a file.
type Status string

// The statuses.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed" // and modified, perhaps
)

// Entry is a file in a state: its mode as in git ("100644", "100755" if executable, "120000" for a symbolic link) and
// the id of its content. The zero Entry means that there is none.
type Entry struct {
	Mode   string `json:"mode,omitempty"`
	Object string `json:"object,omitempty"`
}

// modeLink is the mode of a symbolic link.
const modeLink = "120000"

func (e Entry) isLink() bool { return e.Mode == modeLink }

// Change is the difference of one file between two states.
type Change struct {
	Path           string // relative to the directory, with slashes
	OldPath        string // before it was renamed, else ""
	Status         Status
	Added, Removed int // lines
	Binary         bool
	From, To       Entry
}

// ModeChange returns the modes of the file before and after; nil unless it had both and they differ.
func (c Change) ModeChange() []string {
	if c.From.Mode == "" || c.To.Mode == "" || c.From.Mode == c.To.Mode {
		return nil
	}
	return []string{c.From.Mode, c.To.Mode}
}

// old returns the path of the file before the change.
func (c Change) old() string {
	if c.OldPath != "" {
		return c.OldPath
	}
	return c.Path
}

// The ways to compare.
const (
	renames   = "--find-renames"
	noRenames = "--no-renames"
)

// compare compares two trees. Paths are relative to the directory, as those of the trees are, so git runs at the top of the work
// tree: elsewhere it would add the way from there to the directory.
func (u *use) compare(ctx context.Context, a, b, how string, paths ...string) ([]Change, error) {
	if a == b {
		return nil, nil
	}
	args := append([]string{"-C", u.place.Top, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--numstat", "--no-ext-diff", "--no-textconv", how, a, b, "--"}, paths...)
	out, err := u.run(ctx, args...)
	var failed *git.Error
	if errors.As(err, &failed) && (strings.Contains(failed.Output, "bad object") || strings.Contains(failed.Output, "bad revision")) {
		return nil, fault.Errorf(fault.NotFound, "the checkpoint is no longer stored")
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return parseChanges(out), nil
}

// parseChanges parses the output of git diff-tree -z --raw --numstat.
func parseChanges(out string) []Change {
	fields := &fields{strings.Split(out, "\x00")}
	var list []Change
	at := map[string]int{}
	for head := fields.next(); head != ""; head = fields.next() {
		if raw, ok := strings.CutPrefix(head, ":"); ok {
			c := parseRaw(raw, fields)
			at[c.Path] = len(list)
			list = append(list, c)
			continue
		}
		added, rest, _ := strings.Cut(head, "\t")
		removed, path, _ := strings.Cut(rest, "\t")
		if path == "" { // a rename: both paths follow
			fields.next()
			path = fields.next()
		}
		if i, ok := at[path]; ok {
			c := &list[i]
			c.Binary = added == "-"
			c.Added, _ = strconv.Atoi(added) // 0 for "-"
			c.Removed, _ = strconv.Atoi(removed)
		}
	}
	return list
}

type fields struct{ left []string }

func (f *fields) next() (first string) {
	if len(f.left) == 0 {
		return ""
	}
	first, f.left = f.left[0], f.left[1:]
	return first
}

// parseRaw parses "mode mode object object status", and takes its paths.
func parseRaw(raw string, fields *fields) Change {
	words := strings.Split(raw, " ")
	if len(words) < 5 {
		return Change{}
	}
	c := Change{Path: fields.next(), Status: Modified, From: entry(words[0], words[2]), To: entry(words[1], words[3])}
	switch words[4][:1] {
	case "A":
		c.Status = Added
	case "D":
		c.Status = Deleted
	case "R":
		c.OldPath, c.Path, c.Status = c.Path, fields.next(), Renamed
	}
	return c
}

func entry(mode, object string) Entry {
	if mode == "000000" {
		return Entry{}
	}
	return Entry{mode, object}
}
