package clustertest

import "syscall"

// Apart keeps a process from the signals of the terminal, and ends it when its parent is killed.
func Apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
