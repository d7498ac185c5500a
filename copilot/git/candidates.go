package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Candidate is a file that a commit can contain.
type Candidate struct {
	Path    string // relative to the directory passed to [Open]
	Problem string // why [Repository.CommitFiles] refuses it; "" if it does not
}

// Candidates returns those of the files that differ from the last commit, in their order, and how many other files are staged.
// The files are relative to the directory passed to [Open]; others are left out if they are outside of the work tree.
func (r *Repository) Candidates(ctx context.Context, files []string) (list []Candidate, staged int, err error) {
	names := map[string]string{} // by path
	for _, file := range files {
		if path, err := r.relative(file); err == nil {
			names[path] = file
		}
	}
	problems := map[string]string{}
	err = r.list(ctx, r.Top, nil, func(line string) bool {
		state, path := line[:min(2, len(line))], strings.TrimSuffix(line[min(3, len(line)):], "/")
		if _, wanted := names[path]; wanted {
			problems[path] = r.problem(state, path)
		} else if state[0] != ' ' && state[0] != '?' {
			staged++
		}
		return true
	}, "status", "--porcelain", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty", "-z")
	if err != nil {
		return nil, 0, err
	}
	if err := r.addRefused(ctx, problems); err != nil {
		return nil, 0, err
	}
	for path, problem := range problems {
		list = append(list, Candidate{names[path], problem})
	}
	slices.SortFunc(list, func(a, b Candidate) int { return slices.Index(files, a.Path) - slices.Index(files, b.Path) })
	return list, staged, nil
}

// problem says why a file with a state of `git status --porcelain` cannot be committed.
func (r *Repository) problem(state, path string) string {
	switch {
	case strings.Contains(state, "U"), state == "AA", state == "DD":
		return "it has conflicts"
	case state == "AD":
		return "it is staged but deleted: unstage it yourself"
	case r.isRepository(path):
		return "it is another repository"
	}
	return ""
}

// addRefused adds the files that git ignores or that have a filter, unless they are deleted.
func (r *Repository) addRefused(ctx context.Context, problems map[string]string) error {
	var there []string
	for path := range problems {
		if !r.isMissing(path) {
			there = append(there, path)
		}
	}
	if len(there) == 0 {
		return nil
	}
	ignored, err := r.ignored(ctx, nil, there)
	if err != nil {
		return err
	}
	for _, path := range ignored {
		problems[path] = "git ignores it"
	}
	filters, err := r.filters(ctx, nil, there)
	for path := range filters {
		problems[path] = "it has a filter, which the portal does not run"
	}
	return err
}

// Head describes where a commit goes and what it does without.
type Head struct {
	Branch   string   // "" if HEAD is detached
	Author   string   // "name <address>"
	Problem  string   // why nothing can be committed; "" if something can
	Hooks    []string // that git would run and the portal does not
	IsSigned bool     // git would sign it, the portal does not
}

const unknownAuthor = "git does not know who you are: run `git config --global user.name 'Your Name'` and `git config --global user.email you@example.com`"

// Head describes what [Repository.CommitFiles] would do.
func (r *Repository) Head(ctx context.Context) (h Head, err error) {
	if h.Branch, err = r.CurrentBranch(); err != nil {
		return h, err
	}
	if err := r.checkProgress(); err != nil {
		h.Problem = message(err)
	}
	for _, who := range []string{"GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"} {
		ident, err := r.run(ctx, nil, "var", who)
		switch end := strings.LastIndexByte(ident, '>'); {
		case ctx.Err() != nil:
			return h, ctx.Err()
		case err != nil:
			h.Problem = unknownAuthor
		case end > 0:
			h.Author = ident[:end+1]
		}
	}
	settings, err := readConfig(ctx, r.Top, r.git, `^(core\.hookspath|commit\.gpgsign)$`)
	if err != nil {
		return h, err
	}
	h.IsSigned = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(settings["commit.gpgsign"]))
	h.Hooks = r.hooks(settings["core.hookspath"])
	return h, nil
}

func message(err error) string { return strings.TrimPrefix(err.Error(), "git: ") }

// CurrentBranch returns the current branch, or "" if HEAD is detached.
func (r *Repository) CurrentBranch() (string, error) {
	head, err := r.head()
	if err != nil {
		return "", err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	if branch == strings.TrimSpace(head) {
		return "", nil
	}
	return branch, nil
}

// hooks returns the hooks that `git commit` would run.
func (r *Repository) hooks(configured string) (names []string) {
	dir := filepath.Join(r.commonDir, "hooks")
	switch home, err := os.UserHomeDir(); {
	case configured == "":
	case strings.HasPrefix(configured, "~/") && err == nil:
		dir = filepath.Join(home, configured[2:])
	case filepath.IsAbs(configured):
		dir = configured
	default:
		dir = filepath.Join(r.Top, configured)
	}
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			names = append(names, name)
		}
	}
	return names
}
