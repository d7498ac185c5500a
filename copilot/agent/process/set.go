package process

import (
	"slices"
	"sync"
)

// Set is a set of running processes. It removes those that have ended. The zero value is empty. It is safe
// for concurrent use.
type Set struct {
	mu        sync.Mutex
	processes []*Process
}

// Add adds a process.
func (s *Set) Add(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(slices.DeleteFunc(s.processes, (*Process).HasEnded), p)
}

// Memory returns the memory of each running process, in bytes by process id; empty if unknown.
func (s *Set) Memory() map[int]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = slices.DeleteFunc(s.processes, (*Process).HasEnded)
	held := make(map[int]int64, len(s.processes))
	for _, p := range s.processes {
		if bytes := p.Memory(); bytes > 0 { // the process may have ended
			held[p.PID()] = bytes
		}
	}
	return held
}
