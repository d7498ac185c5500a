//go:build !linux

package clustertest

import "syscall"

// Apart does nothing: other systems do not end a process with its parent, so it must get the signals of the terminal.
func Apart() *syscall.SysProcAttr { return nil }
