//go:build unix

package process

import (
	"os"
	"syscall"
)

func signalGently(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it may have ended already

// killGroup ends a process and what it started without a group of its own.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
