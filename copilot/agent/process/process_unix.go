//go:build unix

package process

import (
	"os"
	"syscall"
)

func signalGently(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it may have ended already

// killGroup ends a process and what it started without a group of its own.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// signalOf is the signal that ended a process, 0 if none did.
func signalOf(s *os.ProcessState) (number int, name string) {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, ""
	}
	return int(status.Signal()), status.Signal().String()
}
