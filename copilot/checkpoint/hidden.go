package checkpoint

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/git"
)

const ignoreFile = ".gitignore"

// hidden returns the files of a later tree that existed perhaps when an earlier one was made, which does not contain them
// because its rules excluded them. To delete them as new files would be wrong.
func (u *use) hidden(ctx context.Context, earlier, later string) (map[string]bool, error) {
	changes, err := u.compare(ctx, earlier, later, noRenames)
	if err != nil {
		return nil, err
	}
	var added []string
	rules := false
	for _, c := range changes {
		rules = rules || path.Base(c.Path) == ignoreFile && c.Status != Added
		if c.Status == Added {
			added = append(added, c.Path)
		}
	}
	if !rules || len(added) == 0 {
		return nil, nil
	}
	const here = "./" // a path that starts with a colon would mean something else
	temp, err := os.MkdirTemp(u.dir, "rules-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // a leftover is harmless
	if err := u.extractRules(ctx, earlier, temp); err != nil {
		return nil, unavailable(err)
	}
	out, err := u.shadow.Run(ctx, git.Call{
		Args: []string{"check-ignore", "-z", "--stdin", "--no-index"}, Input: strings.NewReader(here + strings.Join(added, "\x00"+here) + "\x00"),
		WorkTree: temp, Expect: []int{1},
	})
	if err != nil {
		return nil, unavailable(err)
	}
	found := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		found[strings.TrimPrefix(p, here)] = true
	}
	return found, nil
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
	err = objects.Read(f, object)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
