// Package sandbox runs an agent in bubblewrap: it can write to the working directory and its own home, read
// most other files, and sees no outside process, socket or secret of the user. It shares the network of the
// host, or has a [Gate]: an empty network of its own, from which only a proxy of the portal leads out.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Sandbox says what an agent may use. The zero value allows no directory.
type Sandbox struct {
	Directory string   // writable working directory, an absolute path; "" means none
	Home      string   // the user's home directory
	State     []string // other writable directories, in which it keeps its sessions
	Visible   []string // readable files, also in directories that are otherwise hidden, as /tmp is
	Hidden    []string // unreadable files, besides those that [Sandbox.Command] always hides
	Network   Network  // "" means [Shared]
	Hosts     []string // allowed hosts besides those of models, with [Model]; see [ParseHost]
	Gate      *Gate    // required with [Model]
}

// program is the executable of bubblewrap.
const program = "bwrap"

// probeTime is the time limit for starting a sandbox.
const probeTime = 10 * time.Second

// Probe checks whether sandboxes with a network work here, by starting one. The error says why not and what
// to do.
func Probe(ctx context.Context, n Network) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return errors.New("bubblewrap (bwrap) is not installed: install the package bubblewrap, or set sandbox: false")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	args := append(namespaces(n), "--", "/bin/sh", "-c", "exit 0")
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput() //nolint:gosec // fixed arguments
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	if n == Model && Probe(ctx, Shared) == nil {
		return fmt.Errorf("bubblewrap cannot create a network here (%s): allow network namespaces, or set sandbox_network: shared", said)
	}
	return fmt.Errorf("bubblewrap does not work here (%s): containers, hardened services and AppArmor (Ubuntu 24.04) forbid user namespaces; allow them, or set sandbox: false", said)
}

// namespaces returns the common arguments of all sandboxes. /tmp comes before the mounts below it. The PID
// namespace makes all processes end with bwrap.
func namespaces(n Network) []string {
	args := []string{
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run",
		"--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--as-pid-1",
	}
	if n == Model {
		args = append(args, "--unshare-net")
	}
	return args
}

// Check returns an error if a directory cannot be the working directory of a sandbox, because too much would
// be writable.
func (b *Sandbox) Check() error {
	directory, err := filepath.EvalSymlinks(b.Directory)
	if err != nil {
		return err
	}
	home := b.Home
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	for _, protected := range append([]string{home, "/etc", "/usr", "/tmp", "/proc", "/dev"}, b.State...) {
		if protected != "" && within(protected, directory) {
			return fmt.Errorf("in a sandbox the working directory is writable, and %s is too much: choose a directory below it", directory)
		}
	}
	return nil
}

// within reports whether a path is a directory or below it.
func within(path, directory string) bool {
	rel, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(rel)
}

// Command returns the command line that runs another one in the sandbox.
func (b *Sandbox) Command(command ...string) ([]string, error) {
	args, visible := append([]string{program}, namespaces(b.Network)...), b.Visible
	if b.Network == Model {
		if b.Gate == nil {
			return nil, errors.New("a sandbox with sandbox_network: model requires a gate")
		}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		visible = append([]string{self, b.Gate.directory}, visible...)
		command = append([]string{self, Helper, enterPart, b.Gate.directory, strings.Join(b.Gate.hosts, ",")}, command...)
	}
	directory := ""
	if b.Directory != "" {
		if err := b.Check(); err != nil {
			return nil, err
		}
		directory, _ = filepath.EvalSymlinks(b.Directory) // Check has done it
	}
	for _, path := range b.State {
		args = append(args, "--bind", path, path)
	}
	if directory != "" {
		args = append(args, "--bind", directory, directory, "--chdir", directory)
	}
	// A mount covers what was mounted below it before, so what is hidden comes after what contains it, and what
	// is visible comes last.
	args = append(append(args, b.hide(directory)...), show(visible)...)
	return append(append(args, "--"), command...), nil
}

// show makes files readable. The links to their directories are followed, because mounting does not follow all.
func show(paths []string) (args []string) {
	for _, path := range paths {
		if directory, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != "" {
			args = append(args, "--ro-bind-try", path, filepath.Join(directory, filepath.Base(path)))
		}
	}
	return args
}

// hide hides what contains secrets, unless the user works in it.
func (b *Sandbox) hide(directory string) (args []string) {
	paths := append([]string{"/root/.ssh"}, b.Hidden...)
	for _, name := range secrets {
		paths = append(paths, filepath.Join(b.Home, name))
	}
	for _, path := range paths {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil || directory != "" && within(directory, resolved) {
			continue
		}
		info, err := os.Stat(resolved)
		switch {
		case err != nil:
		case info.IsDir():
			args = append(args, "--tmpfs", resolved)
		default:
			args = append(args, "--ro-bind", os.DevNull, resolved)
		}
	}
	return args
}

// secrets are files and directories below the home directory in which programs store credentials.
var secrets = []string{ //nolint:gochecknoglobals // a table
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc", ".password-store",
	".config/gh", ".config/gcloud", ".config/git/credentials", ".config/portal", ".config/google-chrome", ".config/chromium", ".mozilla",
	".cargo/credentials.toml", ".terraform.d", ".vault-token", ".bash_history", ".zsh_history", ".local/share/keyrings",
	".local/share/copilot-portal", ".Xauthority",
}

// Environment removes the variables that lead out of a sandbox or belong to the portal, such as its token.
func Environment(env []string) []string {
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PORTAL_"), name == "SSH_AUTH_SOCK", name == "SSH_AGENT_PID", name == "GPG_AGENT_INFO",
			name == "DBUS_SESSION_BUS_ADDRESS", name == "XDG_RUNTIME_DIR", name == "DOCKER_HOST",
			name == "DISPLAY", name == "XAUTHORITY", name == "WAYLAND_DISPLAY":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}
