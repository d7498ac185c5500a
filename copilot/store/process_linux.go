package store

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// host returns the boot of the kernel and the PID namespace, within which process ids are comparable, or "" if unknown.
func host() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// started returns the kernel's start time of a process, or "" if there is no such process or it is a zombie.
func started(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The program name stands in parentheses and may contain anything.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
