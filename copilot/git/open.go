package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Repository is a repository with a work tree. The caller must close it. Its methods may be called concurrently, except
// Close.
type Repository struct {
	Top string // top directory of its work tree

	directory    string // directory passed to Open: Top or below
	excludesFile string // value of core.excludesFile
	git          string // its git directory
	commonDir    string // place of objects and references: the git directory of the main work tree
	ownDir       string // the private git directory
	zero         string // the id of no object
	env          []string
}

// ErrNoRepository reports that a directory is in no repository that git trusts. A bare repository does not count, nor
// does one of another user that is not in safe.directory.
var ErrNoRepository = errors.New("there is no git repository that can be used")

// Open opens the repository of a directory. It fails with [ErrNoRepository] and git's message, or with another error if
// git is missing, cannot be used, or does not finish before ctx ends.
func Open(ctx context.Context, directory string) (*Repository, error) {
	d, err := discover(ctx, directory)
	if err != nil {
		return nil, err
	}
	return d.open(directory)
}

// discovery is what git says about the repository of a directory.
type discovery struct {
	git, commonDir, top string
	settings            map[string]string
}

// discover asks git. Errors are those of [Open].
func discover(ctx context.Context, directory string) (d discovery, err error) {
	if isOutside(directory) {
		return d, fmt.Errorf("%w: fatal: not a git repository (or any of the parent directories): .git", ErrNoRepository)
	}
	places, err := output(ctx, call(ctx, directory, discoveryEnvironment(), "-c", "safe.bareRepository=explicit",
		"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"))
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return d, fmt.Errorf("%w: %s", ErrNoRepository, refused.Output)
	case err != nil:
		return d, err
	}
	lines := strings.Split(places, "\n")
	if len(lines) != 3 {
		return d, errors.New("git: the path of the repository has a line break")
	}
	d = discovery{git: lines[0], commonDir: lines[1], top: lines[2]}
	d.settings, err = readConfig(ctx, d.top, d.git, carried)
	return d, err
}

// open opens the repository. The caller must close it.
func (d discovery) open(directory string) (*Repository, error) {
	r := &Repository{git: d.git, commonDir: d.commonDir, Top: d.top, directory: directory, excludesFile: d.settings["core.excludesfile"]}
	if err := r.prepare(maps.Clone(d.settings)); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// isOutside reports whether neither a directory nor one above it has .git. It saves starting git to hear that. On Windows, where git
// resolves junctions that Go does not, git is asked.
func isOutside(directory string) bool {
	path, err := filepath.EvalSymlinks(directory)
	if err != nil || !filepath.IsAbs(path) || runtime.GOOS == "windows" {
		return false
	}
	_, isRepository := Project(path)
	return !isRepository
}

// Project returns the directory or the nearest one above it that contains .git, and whether there is one; otherwise the directory. Unlike
// [Open] it runs nothing: git may not trust the repository.
func Project(directory string) (path string, isRepository bool) {
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return directory, false
		}
	}
}

// Close removes the private git directory.
func (r *Repository) Close() error {
	if r.ownDir == "" {
		return nil
	}
	return os.RemoveAll(r.ownDir)
}

// readConfig reads the settings of a repository whose names match a pattern, those of the user and the system included.
func readConfig(ctx context.Context, top, gitDir, pattern string) (map[string]string, error) {
	out, err := output(ctx, call(ctx, top, discoveryEnvironment(), "--git-dir="+gitDir, "config", "-z", "--get-regexp", pattern))
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	settings := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") { // an error means that none is set
		key, value, hasValue := strings.Cut(entry, "\n")
		switch {
		case key == "":
		case !hasValue:
			settings[key] = "true"
		default:
			settings[key] = value // the last one wins
		}
	}
	return settings, nil
}

// carried matches the settings that are carried over: file comparison, exclusions, and the author. None names a program.
const carried = `^(core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat|excludesfile|` +
	`sharedrepository|compression|fsync|fsyncmethod|logallrefupdates)|status\.showuntrackedfiles|` +
	`(user|author|committer)\.(name|email)|user\.useconfigonly|extensions\.(objectformat|refstorage))$`

// prepare creates the private git directory.
func (r *Repository) prepare(settings map[string]string) (err error) {
	format := "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha1\n"
	r.zero = strings.Repeat("0", sha1.Size*2)
	switch {
	case settings["extensions.objectformat"] == "sha256":
		format, r.zero = strings.Replace(format, "sha1", "sha256", 1), strings.Repeat("0", sha256.Size*2)
	case settings["extensions.refstorage"] != "" && settings["extensions.refstorage"] != "files":
		return fmt.Errorf("git: references in the format %q are not supported", settings["extensions.refstorage"])
	}
	if r.ownDir, err = os.MkdirTemp("", "portal-git-"); err != nil {
		return err
	}
	for _, dir := range []string{"info", "logs"} {
		if err := os.Mkdir(filepath.Join(r.ownDir, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(r.ownDir, "config"), []byte(format), 0o600); err != nil {
		return err
	}
	r.env = append(environment(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR="+r.ownDir, "GIT_WORK_TREE="+r.Top,
		"GIT_INDEX_FILE="+filepath.Join(r.git, "index"))
	r.env = append(r.env, configured(settings)...)
	return errors.Join(r.link(), r.copyHead())
}

// configured returns settings as environment variables. Settings of this package override others.
func configured(settings map[string]string) []string {
	settings["core.fsmonitor"], settings["core.hooksPath"] = "false", os.DevNull
	settings["core.splitIndex"] = "false"
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	i := 0
	for key, value := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
		i++
	}
	return env
}

// link links the contents of the repository into the private git directory. Links may be dangling.
func (r *Repository) link() error {
	links := map[string]string{
		"objects": filepath.Join(r.commonDir, "objects"), "refs": filepath.Join(r.commonDir, "refs"),
		"packed-refs": filepath.Join(r.commonDir, "packed-refs"), "shallow": filepath.Join(r.commonDir, "shallow"),
		"info/exclude": filepath.Join(r.commonDir, "info", "exclude"), "info/attributes": filepath.Join(r.commonDir, "info", "attributes"),
	}
	for name, target := range map[string]string{"logs/refs": filepath.Join(r.commonDir, "logs", "refs"), "logs/HEAD": filepath.Join(r.git, "logs", "HEAD")} {
		if _, err := os.Stat(target); err == nil { // git cannot create the target of a link
			links[name] = target
		}
	}
	shared, _ := filepath.Glob(filepath.Join(r.git, "sharedindex.*")) // parts of a split index; the pattern is valid unless the path has wildcards
	for _, path := range shared {
		links[filepath.Base(path)] = path
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(r.ownDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// maxHead is larger than any valid HEAD, in bytes.
const maxHead = 4096

// copyHead copies HEAD into the private git directory.
func (r *Repository) copyHead() error {
	text, err := r.head()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.ownDir, "HEAD"), []byte(text), 0o600)
}

// head returns the content of HEAD: a reference or a commit.
func (r *Repository) head() (string, error) {
	path := filepath.Join(r.git, "HEAD")
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&os.ModeSymlink != 0: // written by old versions of git
		target, err := os.Readlink(path)
		return "ref: " + target + "\n", err
	case !info.Mode().IsRegular() || info.Size() > maxHead:
		return "", errors.New("git: HEAD of the repository is not valid")
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user chooses the repository
	return string(text), err
}

// run runs git with the private git directory and the work tree.
func (r *Repository) run(ctx context.Context, env []string, args ...string) (string, error) {
	return output(ctx, r.call(ctx, r.Top, env, args...))
}

// call returns a call with the private git directory and the work tree, in a directory.
func (r *Repository) call(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	return call(ctx, dir, append(r.env[:len(r.env):len(r.env)], env...), args...)
}
