package portaltest

import (
	"os"
	"os/signal"
	"syscall"
)

// endOnHangup lets SIGHUP end what this process starts from now on, as it does where a terminal is. A suite that runs under
// nohup ignores the signal, and its children would inherit that: a portal then ignores it on purpose.
func endOnHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // a handler is not inherited, and nothing else is done
	}
}
