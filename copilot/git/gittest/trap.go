// Package gittest makes repositories for tests, also hostile ones.
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

// Run runs plain git as a user does, with whatever the directory configures, and
// returns its output without blanks at the ends. A failure ends the test.
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
	who := []string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"}
	return exec.Command("git", append(who, args...)...) //nolint:gosec,noctx // a test chooses both
}

// Write writes a file below a directory, with the directories that it needs.
func Write(tb testing.TB, dir, name, text string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	check(tb, os.MkdirAll(filepath.Dir(path), 0o750))
	check(tb, os.WriteFile(path, []byte(text), 0o700)) //nolint:gosec // hooks are programs
}

// Trap is a repository in which every option of git that names a program names
// one that leaves a marker. These files are modified, so
// that git has to look into it. Files named *.txt and *.dat have filters.
type Trap struct {
	Dir     string // its work tree
	Linked  string // a directory below it whose .git file names a hostile repository
	Nested  string // a bare repository below it, as a clone can deliver one
	Module  string // a submodule below it
	markers string
}

// NewTrap makes a trap on the branch trunk. It sets HOME for the test.
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
		Write(tb, t.Dir, name, "b\n") // as long as before: git has to read it
	}
	t.Disarm(tb)
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

// program is a shell command that leaves a marker.
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

// section splits an option into the line of its section and its name.
func section(option string) (header, name string) {
	parts := strings.Split(option, ".")
	if len(parts) == 2 {
		return "[" + parts[0] + "]", parts[1]
	}
	return fmt.Sprintf("[%s %q]", parts[0], strings.Join(parts[1:len(parts)-1], ".")), parts[len(parts)-1]
}

// scripts are the options whose value is started with arguments.
var scripts = []string{ //nolint:gochecknoglobals // a table
	"core.fsmonitor", "core.editor", "core.pager", "core.askPass", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
	"diff.external", "diff.trap.command", "diff.trap.textconv", "merge.trap.driver", "gpg.program", "gpg.ssh.program",
	"gpg.x509.program", "gpg.ssh.defaultKeyCommand", "sequence.editor", "credential.helper", "interactive.diffFilter",
	"pager.status", "pager.log", "browser.trap.cmd", "mergetool.trap.cmd", "difftool.trap.cmd", "man.trap.cmd", "trailer.trap.command",
	"trailer.other.cmd", "remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook",
}

// commands are those whose value is a line for the shell. What is not known to
// this version of git does nothing.
var commands = []string{ //nolint:gochecknoglobals // a table
	"filter.trap.smudge", "filter.other.process", "hook.trap.command", "alias.trap", "tar.trap.command", "submodule.module.update",
}

// switches make git want to use them.
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

// Sprung lists the markers that programs have left since the last Disarm.
func (t *Trap) Sprung(tb testing.TB) []string {
	tb.Helper()
	entries, err := os.ReadDir(t.markers)
	check(tb, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Disarm removes the markers.
func (t *Trap) Disarm(tb testing.TB) {
	tb.Helper()
	for _, name := range t.Sprung(tb) {
		check(tb, os.Remove(filepath.Join(t.markers, name)))
	}
}

// Spring uses the repository with plain git, as a control: the markers that it
// returns show that the traps work. It changes the repository.
func (t *Trap) Spring(tb testing.TB) []string {
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
		_ = command(t.Dir, args...).Run() // what counts is what it leaves
	}
	_ = command(t.Linked, "status").Run()
	_ = command(t.Module, "status").Run()
	names := t.Sprung(tb)
	t.Disarm(tb)
	slices.Sort(names)
	return names
}
