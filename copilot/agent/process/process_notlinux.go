//go:build unix && !linux

package process

import "syscall"

// ownGroup puts the program into its own process group, so that Ctrl-C in our terminal does not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownSession makes the program lead a session with its standard input as the terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// EndChildren ends the children in the process's own group. Commands in other groups are found only on Linux.
func (p *Process) EndChildren() int {
	if syscall.Kill(-p.PID(), syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}
