package sdk

import (
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// quickAck makes the kernel acknowledge data from the CLI at once. The CLI uses Nagle's algorithm: its next
// data waits for the acknowledgement of the previous data, for up to 40 ms, the kernel's delay if it has
// nothing else to send. The SDK does not expose its connection, so this uses a second descriptor of it. The
// methods of nil do nothing.
type quickAck struct {
	heard   atomic.Bool  // data arrived since the timer last ran
	running atomic.Bool  // the timer is running
	awaited atomic.Int32 // calls that wait for a reply
	since   atomic.Int64 // when the newest of them began, in Unix nanoseconds

	mu    sync.Mutex
	fd    int // -1 when closed
	timer *time.Timer
}

// ackAfter is how long the CLI must be silent before its data is acknowledged. Acknowledging at once would
// make it send each event of a burst by itself, which costs a tenth of the speed.
const ackAfter = time.Millisecond

// ackAtLatest is the kernel's own delay.
const ackAtLatest = 40 * time.Millisecond

// newQuickAck finds our connection to an IPv4 address and port. It returns nil if there is none; then events
// are only slower.
func newQuickAck(address string) *quickAck {
	peer, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil
	}
	files, _ := filepath.Glob("/proc/self/fd/*") // the pattern is valid
	for _, f := range files {
		fd, err := strconv.Atoi(filepath.Base(f))
		if err != nil || !leadsTo(fd, peer) {
			continue
		}
		second, err := duplicate(fd)
		if err != nil {
			return nil
		}
		if leadsTo(second, peer) { // fd may refer to another file by now
			return startQuickAck(second)
		}
		_ = syscall.Close(second)
	}
	return nil
}

func leadsTo(fd int, peer netip.AddrPort) bool {
	name, err := syscall.Getpeername(fd)
	if err != nil {
		return false
	}
	v4, ok := name.(*syscall.SockaddrInet4)
	return ok && netip.AddrFrom4(v4.Addr) == peer.Addr() && v4.Port == int(peer.Port())
}

// duplicate returns a second descriptor that children do not inherit.
func duplicate(fd int) (int, error) {
	second, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("fcntl", errno)
	}
	return int(second), nil
}

func startQuickAck(fd int) *quickAck {
	a := &quickAck{fd: fd}
	a.timer = time.AfterFunc(time.Hour, a.tick)
	a.timer.Stop()
	return a
}

// soon makes the kernel acknowledge received data: at once after a silence, because the CLI may hold back the
// rest of an event, otherwise when no more data arrives. It is called for every event, is safe for concurrent
// use, and never blocks.
func (a *quickAck) soon() {
	if a == nil {
		return
	}
	if a.running.CompareAndSwap(false, true) {
		a.now()
		a.timer.Reset(ackAfter)
		return
	}
	a.heard.Store(true)
}

// await acknowledges the reply of a call until done is called: the CLI sends the head of a reply first and holds back the
// rest.
func (a *quickAck) await() (done func()) {
	if a == nil {
		return func() {}
	}
	a.since.Store(time.Now().UnixNano())
	a.awaited.Add(1)
	a.soon()
	a.timer.Reset(ackAfter)
	return func() { a.awaited.Add(-1) }
}

func (a *quickAck) tick() {
	if a.heard.Swap(false) {
		a.timer.Reset(ackAfter)
		return
	}
	a.now()
	if a.awaited.Load() > 0 {
		a.timer.Reset(a.replyPause())
		return
	}
	a.running.Store(false)
	if a.heard.Load() || a.awaited.Load() > 0 { // since the checks above
		a.soon()
	}
}

// replyPause returns how long to wait before the next acknowledgement of a reply. It grows with the duration of the call,
// so that a long call costs no more than a short one.
func (a *quickAck) replyPause() time.Duration {
	waited := time.Since(time.Unix(0, a.since.Load()))
	return min(max(waited/16, ackAfter), ackAtLatest)
}

func (a *quickAck) now() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fd >= 0 {
		// The first call sends the pending acknowledgement. Without the second, the kernel would then
		// acknowledge almost every packet, even in a burst.
		_ = syscall.SetsockoptInt(a.fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) // a failure only costs time
		_ = syscall.SetsockoptInt(a.fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0)
	}
}

// close closes the descriptor.
func (a *quickAck) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fd >= 0 {
		_ = syscall.Close(a.fd)
		a.fd = -1
	}
}
