package portaltest

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// endOnHangup makes SIGHUP end child processes started from now on, as in a terminal. Tests under nohup ignore
// the signal, child processes inherit that, and a portal then ignores the signal deliberately.
//
// It is safe for concurrent use. Every call waits for the first one, because signal.Ignored returns false before
// the handler is installed.
var endOnHangup = sync.OnceFunc(func() { //nolint:gochecknoglobals // signals are of the process
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // child processes do not inherit handlers
	}
})
