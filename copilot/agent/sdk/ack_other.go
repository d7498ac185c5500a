//go:build !linux

package sdk

// quickAck is there on Linux only; elsewhere nothing is done.
type quickAck struct{}

func newQuickAck(string) *quickAck { return nil }

func (*quickAck) soon() {}

func (*quickAck) close() {}
