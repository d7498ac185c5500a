package checkpoint

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// outside are the rules outside of a directory that exclude files from it. Those inside are in the tree of a checkpoint.
type outside struct {
	Below   []byte   `json:"below,omitempty"`   // the directory, relative to the top of its work tree
	Above   [][]byte `json:"above,omitempty"`   // ignore files from the top to the directory's parent
	Exclude []byte   `json:"exclude,omitempty"` // info/exclude
	User    []byte   `json:"user,omitempty"`    // core.excludesFile
}

// maxRules is the maximum size of the rules that a checkpoint stores, in bytes.
const maxRules = 64 << 10

// outside returns the present rules.
func (u *use) outside() *outside {
	r := &outside{Exclude: u.place.Excludes, User: readRules(u.excludesFile(), os.Stat)}
	if below, err := filepath.Rel(u.place.Top, u.directory); err == nil {
		r.Below = []byte(filepath.ToSlash(below))
	}
	dir := u.place.Top
	for _, part := range r.parts() {
		r.Above = append(r.Above, readRules(filepath.Join(dir, ignoreFile), os.Lstat)) // git follows no links there
		dir = filepath.Join(dir, part)
	}
	return r
}

// stored returns the rules unless they are too large; nil means that later ones must do.
func (r *outside) stored() *outside {
	size := len(r.Exclude) + len(r.User)
	for _, text := range r.Above {
		size += len(text)
	}
	if size > maxRules {
		return nil
	}
	return r
}

// parts returns the names of the directories from the top of the work tree to the directory.
func (r *outside) parts() []string {
	if below := string(r.Below); below != "." && below != "" {
		return strings.Split(below, "/")
	}
	return nil
}

// excludesFile returns the path of the user's file of rules.
func (u *use) excludesFile() string {
	home, _ := os.UserHomeDir()
	name := u.place.ExcludesFile
	if name == "" { // the default of git
		config, err := os.UserConfigDir()
		if err != nil || runtime.GOOS == "darwin" { // where git uses the same place as on Linux
			config = filepath.Join(home, ".config")
		}
		return filepath.Join(config, "git", "ignore")
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(u.place.Top, name)
	}
	return name
}

// readRules reads a file of rules; one that is missing has none.
func readRules(name string, stat func(string) (os.FileInfo, error)) []byte {
	info, err := stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, _ := os.ReadFile(name) //nolint:gosec // git reads it, too
	return text
}

// write writes the rules into an empty directory as a work tree, and returns the directory there that they are for, and the
// user's file of rules.
func (r *outside) write(temp string) (top, directory, user string, err error) {
	top, user = filepath.Join(temp, "top"), filepath.Join(temp, "user")
	directory = top
	if err := os.WriteFile(user, r.User, 0o600); err != nil {
		return "", "", "", err
	}
	for i, part := range r.parts() {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return "", "", "", err
		}
		if i < len(r.Above) && len(r.Above[i]) > 0 {
			if err := os.WriteFile(filepath.Join(directory, ignoreFile), r.Above[i], 0o600); err != nil {
				return "", "", "", err
			}
		}
		directory = filepath.Join(directory, part)
	}
	return top, directory, user, os.MkdirAll(directory, 0o700)
}
