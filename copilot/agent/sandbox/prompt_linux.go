package sandbox

import (
	"net"
	"syscall"
)

// prompt is a connection that acknowledges received data at once. The agent uses Nagle's algorithm, so its
// next data waits for the acknowledgement, up to 40 ms.
type prompt struct{ net.Conn }

// Read reads and acknowledges.
func (p prompt) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if tcp, ok := p.Conn.(syscall.Conn); ok && err == nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { // a failure only costs time
				_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
			})
		}
	}
	return n, err
}
