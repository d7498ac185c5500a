package server

import "github.com/prometheus/procfs"

// residentMemory is the memory that a process takes, in bytes.
func residentMemory(pid int) (bytes int, ok bool) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, false
	}
	stat, err := p.Stat()
	return stat.ResidentMemory(), err == nil // it may have ended meanwhile
}
