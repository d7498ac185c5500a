//go:build !linux

package process

// Activity is unknown on this system.
func (p *Process) Activity() Activity { return Activity{} }

// Memory is unknown on this system.
func (p *Process) Memory() int64 { return 0 }
