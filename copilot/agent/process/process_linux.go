package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownSession makes the program lead a session without a terminal, so that Ctrl-C in our terminal does not reach it and
// it cannot ask or type there. The kernel ends it when we end.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}

// ownTerminal makes the program lead a session with its standard input as the terminal; the kernel kills it when we end.
func ownTerminal() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}

// How long children of a dead process may take to end by themselves, and then when they are killed, which a busy machine delays.
const (
	childGrace = 300 * time.Millisecond
	killGrace  = time.Second
	childPoll  = 10 * time.Millisecond
)

// EndChildren ends the children that the process left running: a killed agent leaves its shell commands
// behind, each in its own process group. The mark in their environment and the session of processes identify them.
// It returns their number, usually after all of them have ended.
func (p *Process) EndChildren() int {
	left := p.marked()
	n := len(left)
	signalGroups(left, syscall.SIGTERM)
	for deadline := time.Now().Add(childGrace); len(left) > 0 && time.Now().Before(deadline); left = p.marked() {
		<-time.After(childPoll)
	}
	for deadline := time.Now().Add(killGrace); len(left) > 0 && time.Now().Before(deadline); left = p.marked() {
		signalGroups(left, syscall.SIGKILL)
		<-time.After(childPoll)
	}
	return n
}

// marked returns the ids of living processes that carry the mark, or are in the session that the process leads.
func (p *Process) marked() []int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	want := []byte(markVariable + "=" + p.mark + "\x00")
	var pids []int
	for _, f := range files {
		env, _ := os.ReadFile(f) //nolint:gosec // of /proc; of another user, or gone
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && (bytes.Contains(env, want) || p.isInSession(pid)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isInSession reports whether a living process is in the session that the process leads. It may have changed its environment.
func (p *Process) isInSession(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.field(statSession) == strconv.Itoa(p.command.Process.Pid) && !strings.Contains("ZX", s.field(statState))
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
