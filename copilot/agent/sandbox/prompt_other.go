//go:build !linux

package sandbox

import "net"

// prompt is a connection; sandboxes are for Linux.
type prompt struct{ net.Conn }
