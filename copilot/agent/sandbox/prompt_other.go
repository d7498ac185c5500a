//go:build !linux

package sandbox

import "net"

// prompt is a plain connection: sandboxes exist only on Linux.
type prompt struct{ net.Conn }
