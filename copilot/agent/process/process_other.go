//go:build !unix

package process

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func signalGently(p *os.Process) { _ = p.Kill() } // there is no gentler way

func killGroup(p *os.Process) { _ = p.Kill() }

// EndChildren cannot find them here.
func (p *Process) EndChildren() int { return 0 }

// signalOf is the signal that ended a process: there are none here.
func signalOf(*os.ProcessState) (number int, name string) { return 0, "" }
