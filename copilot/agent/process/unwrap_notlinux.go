//go:build !linux

package process

// Unwrap does nothing: there are no sandboxes here.
func (p *Process) Unwrap() {}
