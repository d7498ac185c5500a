package portaltest

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

// UI is a client of the UI protocol, on the standard streams of `portal stdio`
// ([Stdio]) or on a WebSocket ([Portal.UI]). Its methods may be used concurrently.
type UI struct {
	tb      testing.TB
	carrier carrier
	lines   chan string // closed when nothing more comes
	fault   error       // of reading; to be read only after lines is closed
	drop    func()      // throws away what comes
}

// carrier is what a UI speaks on.
type carrier interface {
	send(line string) error
	receive() (line string, err error) // io.EOF at a good end
	closeInput() error
	wait(within time.Duration) (code int, err error)
}

// unread is how many lines may wait for a test; then the portal has to wait.
const unread = 10_000

// endsWithin is how long a portal may take to end behind its input, by a [Clock].
const endsWithin = 5 * time.Second

func newUI(tb testing.TB, on carrier) *UI {
	tb.Helper()
	over := make(chan struct{})
	u := &UI{tb: tb, carrier: on, lines: make(chan string, unread), drop: sync.OnceFunc(func() { close(over) })}
	tb.Cleanup(u.drop)
	go func() {
		defer close(u.lines)
		for {
			line, err := on.receive()
			if err != nil {
				u.fault = err
				return
			}
			select {
			case u.lines <- line:
			case <-over:
			}
		}
	}()
	return u
}

// Send sends a line, without its end.
func (u *UI) Send(line string) {
	u.tb.Helper()
	if err := u.carrier.send(line); err != nil {
		u.tb.Errorf("a line could not be sent: %v: %.200s", err, line)
	}
}

// Receive gives the next line, without its end. At a good end it gives [io.EOF],
// at any other what was wrong with it.
func (u *UI) Receive(within time.Duration) (line string, err error) {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case line, ok := <-u.lines:
		if !ok {
			return "", u.fault
		}
		return line, nil
	case <-timeout.C:
		return "", fmt.Errorf("nothing came within %v", within)
	}
}

// Rest gives all lines up to the end, which must be a good one and come soon.
func (u *UI) Rest() []string {
	u.tb.Helper()
	var all []string
	for {
		asked := Now()
		line, err := u.Receive(patience)
		if asked.Elapsed() > endsWithin {
			u.tb.Errorf("nothing came within %v", endsWithin)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				u.tb.Errorf("no good end: %v, behind %v", err, all)
			}
			return all
		}
		all = append(all, line)
	}
}

// CloseInput says that no more lines will be sent. What comes can still be
// received.
func (u *UI) CloseInput() {
	u.tb.Helper()
	if err := u.carrier.closeInput(); err != nil {
		u.tb.Errorf("the input could not be closed: %v", err)
	}
}

// Wait waits for the end, which must come soon, and gives the exit code. Of a
// WebSocket it is 0 if the portal has closed it well, else 1.
func (u *UI) Wait() (code int) {
	u.tb.Helper()
	code, err := u.carrier.wait(endsWithin)
	if err != nil {
		u.tb.Error(err)
	}
	return code
}
