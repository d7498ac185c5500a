package workspace

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/copilot-portal/portal/copilot/git"
)

// gitTime limits what git does for one result, because a user waits for it.
const gitTime = 3 * time.Second

// MaxChanged is the maximum number of changed files that are counted.
const MaxChanged = 1000

// Unknown is the count when counting takes too long.
const Unknown = -1

// Description describes a path.
type Description struct {
	Path   string // absolute
	Exists bool   // it is an existing directory
	Git    *Git   // nil outside of a repository
}

// Git is the git state of a directory.
type Git struct {
	Branch  string // the commit if HEAD is detached
	Changed int    // changed files of the whole repository, new ones included; at most [MaxChanged], or [Unknown]
}

// Describe describes a path, which has the form described at [Directories].
func Describe(ctx context.Context, path string) (Description, error) {
	path, err := expand(path)
	if err != nil {
		return Description{}, err
	}
	d := Description{Path: filepath.Clean(path)}
	if info, err := os.Stat(d.Path); err == nil && info.IsDir() {
		d.Exists, d.Git = true, stateOf(ctx, d.Path)
	}
	return d, nil
}

// stateOf runs nothing that the directory defines, because the user has merely typed its name.
func stateOf(ctx context.Context, dir string) *Git {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // a leftover temporary directory is harmless
	branch, err := r.Branch(ctx)
	if err != nil {
		return nil
	}
	return &Git{branch, changedIn(ctx, r)}
}

func changedIn(ctx context.Context, r *git.Repository) (n int) {
	err := r.Changed(ctx, func(string) bool {
		n++
		return n < MaxChanged
	})
	if err != nil {
		return Unknown
	}
	return n
}
