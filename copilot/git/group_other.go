//go:build !unix

package git

import "os/exec"

// ownGroup does nothing here: when its context ends, only the process itself does.
func ownGroup(*exec.Cmd) {}

// withoutTerminal does nothing here.
func withoutTerminal(*exec.Cmd) {}
