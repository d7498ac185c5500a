package process

import (
	"os"
	"path/filepath"
	"strconv"
)

// Unwrap makes the first child of the process the one that [Process.PID] and
// [Process.Terminate] mean: the process is a sandbox around it, does nothing itself and
// ends with it. Call it before others use the process.
func (p *Process) Unwrap() {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, f := range files {
		line, _ := os.ReadFile(f) //nolint:gosec // of /proc; a process that has ended has none
		s, ok := parseStat(line)
		if !ok || s.field(statParent) != strconv.Itoa(p.command.Process.Pid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			p.inner, _ = os.FindProcess(pid) // there is always one here
		}
		return
	}
}
