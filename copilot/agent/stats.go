package agent

// Stats counts agent processes.
type Stats struct {
	Running  int    // current number of processes
	Starts   uint64 // successful starts
	Failures uint64 // failed starts
	Deaths   uint64 // unexpected ends
	Hangs    uint64 // processes killed because they did not answer
	Retired  uint64 // processes replaced because of their memory
}

// Plus returns the sums of the counters.
func (s Stats) Plus(other Stats) Stats {
	return Stats{
		Running: s.Running + other.Running, Starts: s.Starts + other.Starts, Failures: s.Failures + other.Failures,
		Deaths: s.Deaths + other.Deaths, Hangs: s.Hangs + other.Hangs, Retired: s.Retired + other.Retired,
	}
}

// Stats returns the counters of the pool. It is safe for concurrent use.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}
