//go:build !linux

package process

// Activity is unknown on this system.
func (p *Process) Activity() Activity { return Activity{} }

// Memory is unknown on this system.
func (p *Process) Memory() int64 { return 0 }

// Unwrap does nothing: there are no sandboxes here.
func (p *Process) Unwrap() {}

func owner() string { return "" } // unknown

func endOrphans(string) []string { return nil } // orphans cannot be found
