package portaltest

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// UI is a client of the UI protocol, on the standard streams of `portal stdio` ([Stdio]) or on a WebSocket
// ([Portal.UI]). Its messages must fit spec/ui.schema.json. It is safe for concurrent use.
type UI struct {
	tb      testing.TB
	carrier carrier
	talks   *contract.Conversation
	lines   chan string // closed at the end
	fault   error       // of reading; valid once lines is closed
	drop    func()      // discards further lines
}

// carrier is the connection of a UI.
type carrier interface {
	send(line string) error
	receive() (line string, err error) // io.EOF at a good end
	closeInput() error
	wait(within time.Duration) (code int, err error)
}

// unread is the number of lines that may wait for a test; then the portal has to wait.
const unread = 10_000

// endsWithin is the time limit for a portal to end after its input has ended, measured by a [testclock.Clock].
const endsWithin = 5 * time.Second

func newUI(tb testing.TB, on carrier) *UI {
	tb.Helper()
	over := make(chan struct{})
	u := &UI{tb: tb, carrier: on, talks: contract.Talk(tb, "/ui"), lines: make(chan string, unread), drop: sync.OnceFunc(func() { close(over) })}
	tb.Cleanup(u.drop)
	go func() {
		defer close(u.lines)
		for {
			line, err := on.receive()
			if err != nil {
				u.fault = err
				return
			}
			u.talks.Received([]byte(line))
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
	u.talks.Sent([]byte(line))
	if err := u.carrier.send(line); err != nil {
		u.tb.Errorf("cannot send a line: %v: %.200s", err, line)
	}
}

// MaySendInvalid allows the test to send what spec/ui.schema.json forbids, from now on.
func (u *UI) MaySendInvalid() { u.talks.MaySendInvalid() }

// Receive returns the next line, without its end. After a normal end, the error is [io.EOF].
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
		return "", fmt.Errorf("nothing arrived within %v", within)
	}
}

// Rest returns all lines up to the end, which must be normal and arrive soon.
func (u *UI) Rest() []string {
	u.tb.Helper()
	var all []string
	for {
		asked := testclock.Now()
		line, err := u.Receive(patience)
		if asked.Elapsed() > endsWithin {
			u.tb.Errorf("nothing arrived within %v", endsWithin)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				u.tb.Errorf("not a normal end: %v, after %v", err, all)
			}
			return all
		}
		all = append(all, line)
	}
}

// CloseInput ends the input of the portal. Further lines can still be received.
func (u *UI) CloseInput() {
	u.tb.Helper()
	if err := u.carrier.closeInput(); err != nil {
		u.tb.Errorf("cannot close the input: %v", err)
	}
}

// Wait waits for the end, which must come soon, and returns the exit code. For a WebSocket, it is 0 if the
// portal closed it normally, otherwise 1.
func (u *UI) Wait() (code int) {
	u.tb.Helper()
	code, err := u.carrier.wait(endsWithin)
	if err != nil {
		u.tb.Error(err)
	}
	return code
}
