package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// ownGroup puts the program into its own process group, so that Ctrl-C in our terminal does not reach it, and
// makes the kernel kill it when we end.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// How long children of a dead process may take to end by themselves.
const (
	childGrace = 300 * time.Millisecond
	childPoll  = 10 * time.Millisecond
)

// EndChildren ends the children that the process left running: a killed agent leaves its shell commands
// behind, each in its own process group. The mark in their environment identifies them. It returns their
// number.
func (p *Process) EndChildren() int {
	left := p.marked()
	n := len(left)
	signalGroups(left, syscall.SIGTERM)
	for deadline := time.Now().Add(childGrace); len(left) > 0 && time.Now().Before(deadline); left = p.marked() {
		<-time.After(childPoll)
	}
	signalGroups(left, syscall.SIGKILL)
	return n
}

// marked returns the ids of living processes that carry the mark.
func (p *Process) marked() []int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	want := []byte(markVariable + "=" + p.mark + "\x00")
	var pids []int
	for _, f := range files {
		env, err := os.ReadFile(f) //nolint:gosec // of /proc
		if err != nil || !bytes.Contains(env, want) {
			continue // of another user, or gone
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signalGroups signals the process groups of the given processes, once each, but never our own.
func signalGroups(pids []int, s syscall.Signal) {
	var groups []int
	for _, pid := range pids {
		g, err := syscall.Getpgid(pid)
		if err != nil {
			continue
		}
		if g == syscall.Getpgrp() {
			_ = syscall.Kill(pid, s)
			continue
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
			_ = syscall.Kill(-g, s)
		}
	}
}
