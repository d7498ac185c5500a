package clustertest

import "syscall"

// apart keeps a process from the signals of the terminal, and ends it when its parent is killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
