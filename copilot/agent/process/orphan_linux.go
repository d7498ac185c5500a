package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// owner identifies this portal among all portals since boot: its process id and start time.
func owner() string { return ownerOf(os.Getpid()) }

// ownerOf returns "<pid>.<start time>", or "" if the process has ended.
func ownerOf(pid int) string {
	s, ok := readStat(pid)
	if !ok || strings.Contains("ZX", s.field(statState)) { // zombies have ended, too
		return ""
	}
	return fmt.Sprintf("%d.%s", pid, s.field(statStartTime))
}

// endOrphans ends the agents, and their children, that killed portals left behind, except those with the mark
// family. It returns their names and ids.
func endOrphans(family string) []string {
	self := ancestors()
	var orphans []*os.Process
	var names []string
	files, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, f := range files {
		pid, err := strconv.Atoi(filepath.Base(f))
		if err != nil || self[pid] || !isSameUserAndNamespace(pid) {
			continue
		}
		p, err := os.FindProcess(pid) // first, so that a reused id is not mistaken for it
		if err != nil {
			continue
		}
		if !isOrphan(pid, family) {
			_ = p.Release() // the handle is unused
			continue
		}
		orphans, names = append(orphans, p), append(names, processName(pid))
	}
	end(orphans)
	return names
}

// processName returns the name of a process for the log, without its arguments, which may be secret.
func processName(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // the process may have ended
	return fmt.Sprintf("%s (%d)", bytes.TrimSpace(name), pid)
}

// ancestors returns this process and its ancestors: a portal may itself be run by an agent of a portal that
// has ended.
func ancestors() map[int]bool {
	pids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !pids[pid]; {
		pids[pid] = true
		s, ok := readStat(pid)
		if !ok {
			break
		}
		pid, _ = strconv.Atoi(s.field(statParent))
	}
	return pids
}

// isSameUserAndNamespace reports whether a process belongs to our user and PID namespace: in a container an
// owner has another id and would seem to be gone.
func isSameUserAndNamespace(pid int) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(of.Uid) != os.Geteuid() {
		return false
	}
	theirs, err := os.Readlink(dir + "/ns/pid")
	ours, ourErr := os.Readlink("/proc/self/ns/pid")
	return err == nil && ourErr == nil && theirs == ours
}

// isOrphan reports whether a process carries the mark of a portal that is gone. Portals themselves are never
// orphans.
func isOrphan(pid int, family string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	entries := strings.Split(string(env), "\x00")
	mark, _ := Variable(entries, markVariable)
	of, _ := Variable(entries, ownerVariable)
	if mark == "" || of == "" || mark == family || isPortal(pid) {
		return false
	}
	number, _, _ := strings.Cut(of, ".")
	portal, err := strconv.Atoi(number)
	return err == nil && portal > 0 && ownerOf(portal) != of
}

func isPortal(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	ours, ourErr := os.Executable()
	theirs = strings.TrimSuffix(theirs, " (deleted)") // the file was replaced
	return err != nil || ourErr != nil || filepath.Base(theirs) == filepath.Base(ours)
}

// end ends processes, gracefully at first.
func end(list []*os.Process) {
	for _, p := range list {
		_ = p.Signal(syscall.SIGTERM) // it may have ended already
	}
	hasEnded := func(p *os.Process) bool { return ownerOf(p.Pid) == "" }
	for deadline := time.Now().Add(childGrace); len(list) > 0 && time.Now().Before(deadline); {
		<-time.After(childPoll)
		list = slices.DeleteFunc(list, hasEnded)
	}
	for _, p := range list {
		_ = p.Kill()
	}
}
