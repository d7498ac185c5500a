//go:build !linux

package process

// Effort is not known here.
func (p *Process) Effort() Effort { return Effort{} }

// Memory is not known here.
func (p *Process) Memory() int64 { return 0 }
