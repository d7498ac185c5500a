//go:build !linux

package sdk

// quickAck does nothing outside of Linux.
type quickAck struct{}

func newQuickAck(string) *quickAck { return nil }

func (*quickAck) soon() {}

func (*quickAck) await() (done func()) { return func() {} }

func (*quickAck) close() {}
