//go:build !linux

package sdk

func (p *process) effort() effort { return effort{} } // not known

func (p *process) memory() int64 { return 0 } // not known
