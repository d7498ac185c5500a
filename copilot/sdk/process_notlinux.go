//go:build unix && !linux

package sdk

import "syscall"

// ownGroup puts the CLI into a process group of its own: Ctrl-C in our terminal
// must not reach it before us.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// endChildren ends what is left in the CLI's own process group. Commands in
// groups of their own are found on Linux only.
func (p *process) endChildren() int {
	if syscall.Kill(-p.pid(), syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}
