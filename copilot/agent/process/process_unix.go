//go:build unix

package process

import (
	"os"
	"syscall"
)

func signalGently(p *os.Process) { _ = p.Signal(syscall.SIGTERM) } // it may have ended already

// killGroup kills a process and its process group.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// signalOf returns the signal that ended a process, or 0.
func signalOf(s *os.ProcessState) (number int, name string) {
	status, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, ""
	}
	return int(status.Signal()), status.Signal().String()
}
