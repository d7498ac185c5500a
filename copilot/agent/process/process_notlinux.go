//go:build unix && !linux

package process

import "syscall"

// ownSession makes the program lead a session without a terminal, so that Ctrl-C in our terminal does not reach it and
// it cannot ask or type there.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownTerminal makes the program lead a session with its standard input as the terminal.
func ownTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// EndChildren ends the children in the process's own group. Commands in other groups are found only on Linux.
func (p *Process) EndChildren() int {
	if syscall.Kill(-p.PID(), syscall.SIGKILL) == nil {
		return 1
	}
	return 0
}
