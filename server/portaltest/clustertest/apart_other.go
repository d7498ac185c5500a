//go:build !linux

package clustertest

import "syscall"

// apart does nothing: other systems do not end a process with its parent, so it must get the signals of the terminal.
func apart() *syscall.SysProcAttr { return nil }
