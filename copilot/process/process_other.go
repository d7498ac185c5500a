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
