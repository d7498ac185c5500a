package portaltest

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// endOnHangup lets SIGHUP end what this process starts from now on, as it does where a terminal is. A suite that runs under
// nohup ignores the signal, and its children would inherit that: a portal then ignores it on purpose.
//
// Tests call it at the same time, and the signal counts as heeded before it is: each waits for the first call to end.
var endOnHangup = sync.OnceFunc(func() { //nolint:gochecknoglobals // signals are of the process
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // a handler is not inherited, and nothing else is done
	}
})
