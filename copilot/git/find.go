package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Place is where git finds a directory: its work tree, and the rules that exclude files from it.
type Place struct {
	Top          string // of the work tree; the directory itself outside of a repository, or where that ignores it
	ExcludesFile string // value of core.excludesFile; "" if it is not set
	Excludes     []byte // content of info/exclude
	// FoldsCase says that the file system takes names that differ only in case for one.
	FoldsCase bool
	// Forced are the files of the directory that the repository tracks although its rules exclude them, relative to the
	// directory.
	Forced []string
}

// Finder finds the place of a directory, whose path must have no symbolic links, again and again. It asks git for the repository and its
// settings only if they may have changed. It is not safe for concurrent use.
type Finder struct {
	Directory string

	found discovery
	state string // of the files that decide, when found was
	until time.Time
}

// discoveryTime is how long git's answer counts while the files that usually decide are the same: settings may be included from others.
const discoveryTime = 5 * time.Minute

// Find returns the place. Errors are those of [Open], except [ErrNoRepository].
func (f *Finder) Find(ctx context.Context) (p Place, err error) {
	if left := time.Until(f.until); left > 0 && left <= discoveryTime && f.state == f.found.state(f.Directory) {
		if p, err = f.found.place(ctx, f.Directory); err == nil || ctx.Err() != nil {
			return p, err
		}
	}
	f.until = time.Time{}
	found, err := discover(ctx, f.Directory)
	if errors.Is(err, ErrNoRepository) {
		return outsidePlace(f.Directory), nil
	}
	if err != nil {
		return Place{}, err
	}
	f.found, f.state = found, found.state(f.Directory)
	if p, err = found.place(ctx, f.Directory); err == nil {
		f.until = time.Now().Add(discoveryTime)
	}
	return p, err
}

// state describes the files that decide which repository a directory is in, and its settings.
func (d discovery) state(directory string) string {
	home, _ := os.UserHomeDir()
	names := []string{
		filepath.Join(d.commonDir, "config"), filepath.Join(d.git, "config.worktree"), "/etc/gitconfig",
		filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config"),
	}
	for _, variable := range discoveryEnvironment() {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
			names = append(names, value)
		case "XDG_CONFIG_HOME":
			names = append(names, filepath.Join(value, "git", "config"))
		}
	}
	var all strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&all, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	for at := directory; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			fmt.Fprintln(&all, at, info.Mode())
			if info.Mode().IsRegular() { // it names the git directory
				fmt.Fprintln(&all, info.Size(), info.ModTime().UnixNano())
			}
		}
		if at == filepath.Dir(at) {
			return all.String()
		}
	}
}

func outsidePlace(directory string) Place {
	return Place{Top: directory, FoldsCase: foldsCase(directory)}
}

// place returns the place of a directory in a repository.
func (d discovery) place(ctx context.Context, directory string) (Place, error) {
	r, err := d.open(directory)
	if err != nil {
		return Place{}, err
	}
	defer r.Close() //nolint:errcheck // a leftover temporary directory is harmless
	below, err := filepath.Rel(r.Top, directory)
	if err != nil || !filepath.IsLocal(below) {
		return outsidePlace(directory), nil
	}
	if below != "." && r.ignores(ctx, below) {
		return outsidePlace(directory), ctx.Err()
	}
	p := Place{Top: r.Top, ExcludesFile: r.excludesFile, FoldsCase: foldsCase(directory)}
	p.Excludes, _ = os.ReadFile(filepath.Join(r.commonDir, "info", "exclude")) // is often missing
	err = r.list(ctx, directory, nil, func(path string) bool {
		p.Forced = append(p.Forced, path)
		return true
	}, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	return p, err
}

// ignores reports whether the rules of the repository exclude a directory, relative to its top.
func (r *Repository) ignores(ctx context.Context, directory string) bool {
	_, err := r.run(ctx, nil, "check-ignore", "--quiet", "--", "./"+filepath.ToSlash(directory))
	return err == nil
}

// foldsCase reports whether the file system has what belongs to a directory also under a name in another case: the repository in it, because the
// directory itself may be a mount point, otherwise the directory.
func foldsCase(directory string) bool {
	repository := filepath.Join(directory, ".git")
	if _, err := os.Lstat(repository); err == nil {
		directory = repository
	}
	for above := filepath.Dir(directory); above != directory; directory, above = above, filepath.Dir(above) {
		name := filepath.Base(directory)
		other := strings.ToUpper(name)
		if other == name {
			other = strings.ToLower(name)
		}
		if other == name {
			continue // it has no letters
		}
		here, err := os.Lstat(directory)
		if err != nil {
			return false
		}
		there, err := os.Lstat(filepath.Join(above, other))
		return err == nil && os.SameFile(here, there)
	}
	return false
}
