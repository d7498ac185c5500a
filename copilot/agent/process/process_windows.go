package process

import (
	"os"
	"syscall"
)

// ownSession makes Ctrl-C in our terminal not reach the program.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// ownTerminal returns nil: there are no terminals here.
func ownTerminal() *syscall.SysProcAttr { return nil }

func signalGently(p *os.Process) { _ = p.Kill() } // there is no gentler way

func killGroup(p *os.Process) { _ = p.Kill() }

// EndChildren returns 0: children cannot be found here.
func (p *Process) EndChildren() int { return 0 }

// signalOf returns 0: there are no signals here.
func signalOf(*os.ProcessState) (number int, name string) { return 0, "" }
