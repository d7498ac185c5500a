package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// redirects adds the files that redirections write. Files that they read belong to the command, which could
// open them itself.
func (r *reading) redirects(list []redirect, dirs []string) {
	for _, to := range list {
		if to.writes || isConnection(to.target) {
			r.file(Write, to.target, dirs)
		}
	}
}

// reads adds the files redirected into a plain git command, because it needs no exec.run that would cover
// them.
func (r *reading) reads(list []redirect, dirs []string) {
	for _, from := range list {
		if !from.writes {
			r.file(Read, from.target, dirs)
		}
	}
}

// file adds the need for a file, relative to each directory that the shell may be in.
func (r *reading) file(name string, w word, dirs []string) {
	path := w.path()
	switch {
	case w.pipe, isDevice(path):
	case isConnection(w) && w.vague:
		r.add(Need{Name: Fetch})
	case isConnection(w):
		r.add(Need{Name: Fetch, Target: strings.Replace(strings.TrimPrefix(path, "/dev/"), "/", "://", 1)})
	case path == "" || isRooted(path):
		r.add(Need{Name: name, Target: path})
	case len(dirs) == 0:
		r.add(Need{Name: name})
	default:
		for _, dir := range dirs {
			r.add(Need{Name: name, Target: joined(dir, path)})
		}
	}
}

// path returns the file that a word names, or "" if it may be any. "~/" is the home of the user who runs the
// shell.
func (w word) path() string {
	switch {
	case w.vague, w.tilde && w.text != "~" && !strings.HasPrefix(w.text, "~/"), w.tilde && strings.Contains(w.text, ".."):
		return ""
	case !w.tilde && strings.HasPrefix(w.text, "~"):
		return "./" + w.text
	}
	return w.text
}

// joined resolves a relative path in dir; "" if dir is unknown. It does not clean the path: "link/.." may be
// anywhere.
func joined(dir, path string) string {
	switch {
	case dir == "":
		return path
	case strings.HasPrefix(dir, "~") && strings.Contains(path, ".."):
		return ""
	}
	return dir + "/" + path
}

func isRooted(path string) bool {
	return filepath.IsAbs(path) || path == "~" || strings.HasPrefix(path, "~/")
}

// isDevice reports whether a file stores nothing.
func isDevice(path string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"}, path)
}

// isConnection reports whether the shell opens a connection instead of a file.
func isConnection(w word) bool {
	return strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/")
}

// mayConnect reports whether the shell computes the name of a file, which may be that of a connection.
func mayConnect(list []redirect) bool {
	return slices.ContainsFunc(list, func(r redirect) bool {
		known, _, isComputed := strings.Cut(r.target.text, "$")
		return r.target.vague && !r.target.pipe && isComputed && (strings.HasPrefix("/dev/tcp/", known) || strings.HasPrefix("/dev/udp/", known))
	})
}

// directories returns the directories in which the commands of the script may run if it starts in one of
// these; none if they may run anywhere.
func (s script) directories(from []string) []string {
	if s.opaque {
		return nil
	}
	for _, c := range s.commands {
		if len(c.words) == 0 || !c.movesShell() {
			continue
		}
		target := ""
		if c.words[0].text == "cd" && len(c.words) == 2 && !strings.HasPrefix(c.words[1].text, "-") {
			target = c.words[1].path()
		}
		switch {
		case target == "", len(from) != 1, c.repeats && !isRooted(target):
			return nil
		case isRooted(target):
			from = append(from, target)
		default:
			from = append(from, joined(from[0], target))
		}
	}
	return from
}

// movesShell reports whether the shell may be in another directory after a command.
func (c command) movesShell() bool {
	isMove := func(w word) bool { return slices.Contains([]string{"cd", "pushd", "popd"}, w.text) }
	switch c.words[0].text {
	case "eval", "source", ".", "trap":
		return true
	case "builtin", "command":
		return slices.ContainsFunc(c.words, isMove)
	}
	return c.words[0].vague || isMove(c.words[0])
}
