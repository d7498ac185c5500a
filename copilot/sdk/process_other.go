//go:build !unix

package sdk

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func signalGently(p *os.Process) { _ = p.Kill() } // there is no gentler way

func killGroup(p *os.Process) { _ = p.Kill() }

func (p *process) endChildren() int { return 0 }
