package workspace

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/copilot-portal/portal/copilot/git"
)

// gitTime is how long git may take for an answer: somebody waits for it.
const gitTime = time.Second

// MaxChanged is how many changed files are counted.
const MaxChanged = 1000

// Unknown stands for a count that would have taken too long.
const Unknown = -1

// Description says what is at a path.
type Description struct {
	Path   string // absolute
	Exists bool   // it is a directory
	Git    *Git   // nil if git does not know it, or is not there
}

// Git is how a directory stands with git.
type Git struct {
	Branch  string // of a detached head: the commit
	Changed int    // files of the whole repository, new ones included; at most [MaxChanged], or [Unknown]
}

// Describe says what is at a path, which is as that of [Directories].
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

// stateOf runs nothing that the directory defines: somebody has merely typed its name.
func stateOf(ctx context.Context, dir string) *Git {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // a temporary directory that stays harms nobody
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
