//go:build unix && !linux

package process

import "syscall"

// ownGroup puts the program into a process group of its own: Ctrl-C in our terminal
// must not reach it before us.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// EndChildren ends what is left in its own process group. Commands in
// groups of their own are found on Linux only.
func (p *Process) EndChildren() int {
	if syscall.Kill(-p.PID(), syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}
