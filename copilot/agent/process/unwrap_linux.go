package process

import (
	"os"
	"path/filepath"
	"strconv"
)

// Unwrap makes [Process.PID] and [Process.Terminate] refer to the first child of the process. Use it for a
// sandbox, which only wraps the child and ends with it. Call it before others use the process.
func (p *Process) Unwrap() {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, f := range files {
		line, _ := os.ReadFile(f) //nolint:gosec // empty if the process has ended
		s, ok := parseStat(line)
		if !ok || s.field(statParent) != strconv.Itoa(p.command.Process.Pid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			p.inner, _ = os.FindProcess(pid) // never fails on Unix
		}
		return
	}
}
