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

// quickAck makes the kernel acknowledge at once what the CLI has sent. The
// CLI leaves Nagle's algorithm on: what it says while something else is not
// acknowledged waits for up to 40 ms, the time that the kernel takes where it
// has nothing else to send. The SDK hands its connection to nobody, so this is a
// second descriptor of it. The methods of nil do nothing.
type quickAck struct {
	heard   atomic.Bool // something came since the timer ran last
	running atomic.Bool // the timer

	mu    sync.Mutex
	fd    int // -1 when closed
	timer *time.Timer
}

// ackAfter is how long the CLI is silent before it is told that all has come. Not
// at once: in a burst that would have it send each event by itself, which costs
// a tenth of the speed.
const ackAfter = time.Millisecond

// newQuickAck finds our connection to an IPv4 address and port; nil if there is
// none, and then things are only slower.
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
		if leadsTo(second, peer) { // fd may have become another file meanwhile
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

// duplicate gives a second descriptor, which what we start does not inherit.
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

// soon has what came acknowledged: at once after a silence, for the CLI may hold
// back what belongs to it, else when nothing more comes. It may be called
// concurrently, for every event, and never waits.
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

func (a *quickAck) tick() {
	if a.heard.Swap(false) {
		a.timer.Reset(ackAfter)
		return
	}
	a.now()
	a.running.Store(false)
	if a.heard.Load() { // it came meanwhile and saw the timer running
		a.soon()
	}
}

func (a *quickAck) now() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fd >= 0 {
		// The first sends the acknowledgement that is due. Without the second the
		// kernel would go on to send one for almost every packet, also in a burst.
		_ = syscall.SetsockoptInt(a.fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) // else it is slower
		_ = syscall.SetsockoptInt(a.fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0)
	}
}

// close lets the connection go.
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
