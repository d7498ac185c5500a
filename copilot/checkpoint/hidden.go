package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/git"
)

const ignoreFile = ".gitignore"

// hidden returns the files of a later tree that existed perhaps when an earlier checkpoint was made, which does not contain them
// because rules excluded them. To delete them as new files would be wrong.
func (u *use) hidden(ctx context.Context, earlier Checkpoint, later string) (map[string]bool, error) {
	spans := earlier.parts
	if len(spans) == 0 {
		spans = []Span{{From: earlier}}
	}
	found := map[string]bool{}
	for _, s := range spans {
		added, err := u.added(ctx, s.From.tree, cmp.Or(s.To.tree, later))
		if err == nil && len(added) > 0 {
			err = u.excluded(ctx, s.From, added, found)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// added returns the files that only the later of two trees contains.
func (u *use) added(ctx context.Context, earlier, later string) (paths []string, err error) {
	changes, err := u.compare(ctx, earlier, later, noRenames)
	for _, c := range changes {
		if c.Status == Added {
			paths = append(paths, c.Path)
		}
	}
	return paths, err
}

// excluded adds to found those of some files that the rules at the time of a checkpoint exclude, tracked or not.
func (u *use) excluded(ctx context.Context, c Checkpoint, files []string, found map[string]bool) error {
	temp, err := os.MkdirTemp(u.dir, "rules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a leftover is harmless
	rules := c.outside
	if rules == nil {
		rules = u.outside()
	}
	top, directory, user, err := rules.write(temp)
	if err != nil {
		return unavailable(err)
	}
	if err := u.extractRules(ctx, c.tree, directory); err != nil {
		return unavailable(err)
	}
	here := "./" // a path that starts with a colon would mean something else
	if parts := rules.parts(); parts != nil {
		here += string(rules.Below) + "/"
	}
	shadow, err := git.NewShadow(ctx, filepath.Join(temp, "git"), top, git.Place{Top: top, ExcludesFile: user, Excludes: rules.Exclude})
	if err != nil {
		return unavailable(err)
	}
	out, err := shadow.Run(ctx, git.Call{
		Args: []string{"check-ignore", "-z", "--stdin", "--no-index"}, Input: strings.NewReader(here + strings.Join(files, "\x00"+here) + "\x00"),
		WorkTree: top, Expect: []int{1},
	})
	if err != nil {
		return unavailable(err)
	}
	for p := range strings.SplitSeq(string(out), "\x00") {
		found[strings.TrimPrefix(p, here)] = true
	}
	return nil
}

// extractRules writes the ignore files of a tree below a directory.
func (u *use) extractRules(ctx context.Context, tree, to string) error {
	out, err := u.run(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return err
	}
	objects, err := u.shadow.Objects(ctx)
	if err != nil {
		return err
	}
	defer objects.Close()
	for line := range strings.SplitSeq(out, "\x00") {
		head, p, _ := strings.Cut(line, "\t")
		words := strings.Fields(head)
		if path.Base(p) != ignoreFile || len(words) != 3 || words[0] == modeLink {
			continue
		}
		name := filepath.Join(to, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := extract(objects, name, words[2]); err != nil {
			return err
		}
	}
	return nil
}

// extract writes an object to a file.
func extract(objects *git.Objects, name, object string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // below the data directory
	if err != nil {
		return err
	}
	return errors.Join(objects.Read(f, object), f.Close())
}
