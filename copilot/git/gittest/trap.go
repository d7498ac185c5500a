// Package gittest creates repositories for tests, hostile ones included.
package gittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Run runs plain git as a user does, with the configuration of the directory, and returns its trimmed output. A failure
// ends the test.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := command(dir, args...).CombinedOutput()
	check(tb, err, string(out))
	return strings.TrimSpace(string(out))
}

func check(tb testing.TB, err error, more ...string) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err, more)
	}
}

func command(dir string, args ...string) *exec.Cmd {
	options := []string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"}
	return exec.Command("git", append(options, args...)...) //nolint:gosec,noctx // tests choose both
}

// Write writes a file below a directory and creates missing directories.
func Write(tb testing.TB, dir, name, text string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	check(tb, os.MkdirAll(filepath.Dir(path), 0o750))
	check(tb, os.WriteFile(path, []byte(text), 0o700)) //nolint:gosec // hooks are programs
}

// Trap is a repository in which every git option that names a program names one that leaves a marker. Files are
// modified, so that git has to read them. Files named *.txt and *.dat have filters.
type Trap struct {
	Dir     string // its work tree
	Linked  string // directory below it whose .git file names a hostile repository
	Nested  string // bare repository below it, which a clone can contain
	Module  string // a submodule below it
	markers string
}

// NewTrap creates a trap on the branch trunk. It sets HOME for the test.
func NewTrap(tb testing.TB) *Trap {
	tb.Helper()
	base := tb.TempDir()
	if t, ok := tb.(*testing.T); ok {
		home := filepath.Join(base, "home")
		check(tb, os.Mkdir(home, 0o750))
		t.Setenv("HOME", home)
	}
	t := &Trap{Dir: filepath.Join(base, "work"), markers: filepath.Join(base, "markers")}
	t.Linked, t.Nested, t.Module = filepath.Join(t.Dir, "linked"), filepath.Join(t.Dir, "nested"), filepath.Join(t.Dir, "module")
	for _, dir := range []string{t.Dir, t.markers, t.Linked, t.Nested, filepath.Join(base, "origin")} {
		check(tb, os.MkdirAll(dir, 0o750))
	}
	t.fill(tb, filepath.Join(base, "origin"))
	t.arm(tb, filepath.Join(t.Dir, ".git"), "")
	t.arm(tb, filepath.Join(t.Dir, ".git", "modules", "module"), "module.")
	for _, name := range []string{"a.txt", "a.dat", "module/a.txt", "linked/a.txt"} {
		Write(tb, t.Dir, name, "b\n") // same length, so git must read the file
	}
	t.Reset(tb)
	return t
}

// fill commits files, a submodule and a bare repository.
func (t *Trap) fill(tb testing.TB, origin string) {
	tb.Helper()
	for _, dir := range []string{origin, t.Dir} {
		Run(tb, dir, "init", "-q", "-b", "trunk")
		Write(tb, dir, "a.txt", "a\n")
		Write(tb, dir, ".gitattributes", "*.txt filter=trap diff=trap merge=trap\n*.dat filter=other\n")
		Write(tb, dir, "a.dat", "a\n")
		Run(tb, dir, "add", ".")
		Run(tb, dir, "commit", "-q", "-m", "first")
	}
	Run(tb, t.Dir, "submodule", "--quiet", "add", origin, "module")
	Run(tb, t.Nested, "init", "-q", "--bare", "-b", "trunk")
	t.arm(tb, t.Nested, "nested.")
	Run(tb, t.Nested, "config", "core.bare", "false")
	Run(tb, t.Nested, "config", "core.worktree", t.Dir)
	Write(tb, t.Linked, ".git", "gitdir: ../nested\n")
	Run(tb, t.Dir, "add", "nested")
	Run(tb, t.Dir, "commit", "-q", "-m", "second")
}

// program returns a shell command that leaves a marker.
func (t *Trap) program(marker string) string {
	return "touch '" + filepath.Join(t.markers, marker) + "'; cat"
}

// arm sets every option of a repository that names a program.
func (t *Trap) arm(tb testing.TB, gitDir, prefix string) {
	tb.Helper()
	script := func(name string) string {
		Write(tb, gitDir, "trap/"+name, "#!/bin/sh\ntouch '"+filepath.Join(t.markers, prefix+name)+"'\nexit 0\n")
		return filepath.Join(gitDir, "trap", name)
	}
	var config strings.Builder
	for _, option := range scripts {
		section, name := section(option)
		fmt.Fprintf(&config, "%s\n\t%s = %s\n", section, name, script(option))
	}
	for _, option := range commands {
		section, name := section(option)
		value := t.program(prefix + option)
		if name == "trap" || name == "update" {
			value = "!" + value
		}
		fmt.Fprintf(&config, "%s\n\t%s = \"%s\"\n", section, name, value)
	}
	included := filepath.Join(gitDir, "included")
	fmt.Fprintf(&config, "[include]\n\tpath = %s\n[includeIf \"gitdir:**\"]\n\tpath = %s\n", included, included)
	Write(tb, gitDir, "included", "[filter \"trap\"]\n\tclean = \""+t.program(prefix+"filter.trap.clean")+"\"\n\trequired = true\n")
	config.WriteString(switches)
	f, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // of the test
	check(tb, err)
	_, err = f.WriteString(config.String())
	check(tb, err)
	check(tb, f.Close())
	for _, hook := range hooks {
		Write(tb, gitDir, "hooks/"+hook, "#!/bin/sh\ntouch '"+filepath.Join(t.markers, prefix+"hook."+hook)+"'\nexit 0\n")
	}
}

// section splits an option into its section line and its name.
func section(option string) (header, name string) {
	parts := strings.Split(option, ".")
	if len(parts) == 2 {
		return "[" + parts[0] + "]", parts[1]
	}
	return fmt.Sprintf("[%s %q]", parts[0], strings.Join(parts[1:len(parts)-1], ".")), parts[len(parts)-1]
}

// scripts lists the options whose value is started with arguments.
var scripts = []string{ //nolint:gochecknoglobals // a table
	"core.fsmonitor", "core.editor", "core.pager", "core.askPass", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
	"diff.external", "diff.trap.command", "diff.trap.textconv", "merge.trap.driver", "gpg.program", "gpg.ssh.program",
	"gpg.x509.program", "gpg.ssh.defaultKeyCommand", "sequence.editor", "credential.helper", "interactive.diffFilter",
	"pager.status", "pager.log", "browser.trap.cmd", "mergetool.trap.cmd", "difftool.trap.cmd", "man.trap.cmd", "trailer.trap.command",
	"trailer.other.cmd", "remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook",
}

// commands lists the options whose value is a shell command. Options unknown to this version of git have no effect.
var commands = []string{ //nolint:gochecknoglobals // a table
	"filter.trap.smudge", "filter.other.process", "hook.trap.command", "alias.trap", "tar.trap.command", "submodule.module.update",
}

// switches makes git use the programs.
const switches = `[commit]
	gpgSign = true
	verbose = true
[log]
	showSignature = true
[hook "trap"]
	event = pre-commit
	event = reference-transaction
	event = post-index-change
[remote "origin"]
	url = ext::false
	promisor = true
	partialclonefilter = blob:none
[protocol "ext"]
	allow = always
[gc]
	auto = 1
[status]
	submoduleSummary = true
[diff]
	submodule = diff
[maintenance]
	auto = true
`

var hooks = []string{ //nolint:gochecknoglobals // a table
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit", "post-index-change",
	"post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase",
	"prepare-commit-msg", "push-to-checkout", "reference-transaction", "sendemail-validate",
}

// Markers returns the markers that programs have left since the last Reset.
func (t *Trap) Markers(tb testing.TB) []string {
	tb.Helper()
	entries, err := os.ReadDir(t.markers)
	check(tb, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Reset removes the markers.
func (t *Trap) Reset(tb testing.TB) {
	tb.Helper()
	for _, name := range t.Markers(tb) {
		check(tb, os.Remove(filepath.Join(t.markers, name)))
	}
}

// Trigger uses the repository with plain git, as a control, and returns the markers, which show that the trap works. It
// changes the repository.
func (t *Trap) Trigger(tb testing.TB) []string {
	tb.Helper()
	Write(tb, t.Dir, "new.txt", "new\n")
	for _, args := range [][]string{
		{"status"},
		{"diff", "a.dat"},
		{"diff"},
		{"-c", "diff.external=", "diff"},
		{"-c", "diff.external=", "-c", "diff.trap.command=", "diff"},
		{"add", "new.txt"},
		{"commit"},
		{"commit", "-m", "signed"},
		{"-c", "commit.gpgSign=false", "commit", "-m", "third"},
		{"trap"},
		{"cat-file", "-p", strings.Repeat("1", 40)},
		{"fetch", "ssh://example.invalid/x"},
	} {
		_ = command(t.Dir, args...).Run() // only the markers count
	}
	_ = command(t.Linked, "status").Run()
	_ = command(t.Module, "status").Run()
	names := t.Markers(tb)
	t.Reset(tb)
	slices.Sort(names)
	return names
}
