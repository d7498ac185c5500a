package agent

import "sync"

// LastStart is the health of an agent as its last start left it. The zero value is that of an agent that was not started yet. It is safe for
// concurrent use.
type LastStart struct {
	mu     sync.Mutex
	health Health
}

// Set records the result of a start.
func (l *LastStart) Set(h Health) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health = h
}

// SetStarting says why the first start takes long. It changes nothing once the program has been started.
func (l *LastStart) SetStarting(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.health.State == "" || l.health.State == HealthMissing {
		l.health = Health{State: HealthStarting, Message: message}
	}
}

// Health returns the result of the last start. Without one, and if the program was missing, find looks for the program, and missing describes
// its error.
func (l *LastStart) Health(find func() error, missing func(error) Health) Health {
	l.mu.Lock()
	h := l.health
	l.mu.Unlock()
	if h.State != "" && h.State != HealthMissing {
		return h
	}
	if err := find(); err != nil {
		return missing(err)
	}
	return Health{State: HealthUnknown}
}
