package process

import (
	"slices"
	"sync"
)

// Set is a set of processes, which forgets those that have ended. The zero value is
// empty; its methods may be called concurrently.
type Set struct {
	mu        sync.Mutex
	processes []*Process
}

// Add puts a process into the set.
func (s *Set) Add(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(slices.DeleteFunc(s.processes, (*Process).HasEnded), p)
}

// Memory is what each process holds that lives now, by its id, in bytes. Where that
// is not known there are none.
func (s *Set) Memory() map[int]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = slices.DeleteFunc(s.processes, (*Process).HasEnded)
	held := make(map[int]int64, len(s.processes))
	for _, p := range s.processes {
		if bytes := p.Memory(); bytes > 0 { // it may have ended meanwhile
			held[p.PID()] = bytes
		}
	}
	return held
}
