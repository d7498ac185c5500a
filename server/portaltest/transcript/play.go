package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// UI is a client of the portal, on any carrier.
type UI interface {
	Send(line string)
	Receive(within time.Duration) (line string, err error) // io.EOF after a normal end
	CloseInput()
	Wait() (code int)
	Cut() // drops the connection in both directions
}

// Setup is the environment in which a script is played.
type Setup struct {
	Schema   *contract.Dialect
	Open     func() UI                      // connects a new client, with the data of earlier ones
	Session  func(query string) (id string) // starts a session by another dialect
	Query    func(id, prompt string)        // sends a prompt by another dialect
	Stderr   func() string                  // of the portal
	Dir      string                         // the directory of the client
	Patience time.Duration                  // time limit for each message
}

// player plays one script.
type player struct {
	Setup
	script      Script
	names       Names
	connections map[string]*connection
	speaker     string
	log         log
}

// Play plays a script, closes the connections that are still open, and checks that no unexpected message
// arrives.
func (s Setup) Play(script Script) error {
	p := &player{Setup: s, script: script, names: Names{"dir": s.Dir}, connections: map[string]*connection{}}
	p.open()
	for _, step := range script.Steps {
		if err := p.do(step); err != nil {
			p.listen()
			return p.log.report(script.Name, step, err, p.Stderr())
		}
	}
	for name, t := range p.connections {
		p.speaker = name
		if err := p.finish(t, 0); err != nil {
			return p.log.report(script.Name, Step{Verb: "the end"}, err, p.Stderr())
		}
	}
	return nil
}

func (p *player) open() {
	p.connections[p.speaker] = &connection{ui: p.Open(), asked: map[string]string{}}
}

// listen logs the messages after a fault, because they may explain it.
func (p *player) listen() {
	p.log.note("later messages")
	p.Patience = min(p.Patience, time.Second)
	for range shownLines / 2 {
		if _, err := p.receive(p.connections[p.speaker]); err != nil {
			return
		}
	}
}

func (p *player) do(s Step) error {
	t := p.connections[p.speaker]
	switch s.Verb {
	case Send, SendWrong:
		return p.send(t, s)
	case Initialize:
		return p.initialize(t, s)
	case Expect:
		return p.expect(t, []Step{s})
	case Any:
		return p.expect(t, s.Group)
	case Close:
		t.close()
	case Exit:
		code, _ := strconv.Atoi(s.Text) // Parse has validated it
		return p.finish(t, code)
	case Kill:
		t.cut()
	case Again:
		return p.reconnect(t)
	case Speaker:
		if p.speaker = s.Text; p.connections[s.Text] == nil {
			p.open()
		}
	case File, Session, Query:
		return p.prepare(s)
	}
	return nil
}

// reconnect ends the client unless it has ended, and starts a new one.
func (p *player) reconnect(t *connection) error {
	if err := p.finish(t, 0); err != nil {
		return err
	}
	p.log.note("a new client")
	p.open()
	return nil
}

// prepare executes steps that are not actions of a UI.
func (p *player) prepare(s Step) error {
	text, err := p.names.text(s.Text, func(s string) string { return s })
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(text, " ")
	switch s.Verb {
	case File:
		path := filepath.Join(p.Dir, word)
		content, err := decode(rest)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		return os.WriteFile(path, fmt.Append(nil, content), 0o600)
	case Session:
		p.names[word] = p.Session(rest)
	case Query:
		p.Query(fmt.Sprint(p.names[word]), rest)
	}
	return nil
}

// expect waits until all expected messages have arrived, in any order. It skips ignored messages.
func (p *player) expect(t *connection, wanted []Step) error {
	for open := slices.Clone(wanted); len(open) > 0; {
		m, err := p.receive(t)
		if err != nil {
			return fmt.Errorf("expected\n%s\nbut %w", texts(open), err)
		}
		i, why, err := p.find(open, m)
		switch {
		case err != nil:
			return err
		case i >= 0:
			open = slices.Delete(open, i, i+1)
		case !p.ignored(m):
			return fmt.Errorf("expected\n%s\nbut received\n\t%s\nwhich does not match:\n%s", texts(open), show(m), why)
		}
	}
	return nil
}

// find returns the index of the first step that a message matches, or -1 with the reasons why none does.
func (p *player) find(open []Step, message any) (i int, why string, err error) {
	var faults []string
	for i, s := range open {
		pattern, err := decode(s.Text)
		if err != nil {
			return -1, "", fmt.Errorf("line %d is not JSON: %w", s.Line, err)
		}
		if err = p.names.Match(pattern, message); err == nil {
			return i, "", nil
		}
		faults = append(faults, fmt.Sprintf("\t%d: %v", s.Line, err))
	}
	return -1, strings.Join(faults, "\n"), nil
}

// ignored reports whether a message is ignored because of its method or, for an event, its type.
func (p *player) ignored(message any) bool {
	for _, name := range []string{member(message, "method"), member(message, "params", "event", "type")} {
		if name != "" && slices.Contains(p.script.Needs.Ignore, name) {
			return true
		}
	}
	return false
}

// finish closes the input and reads the remaining messages, which must all be ignored ones.
func (p *player) finish(t *connection, code int) error {
	if t.ended {
		return nil
	}
	t.close()
	for {
		m, err := p.receive(t)
		switch {
		case errors.Is(err, io.EOF):
			t.ended = true
			if got := t.ui.Wait(); got != code {
				return fmt.Errorf("the exit code is %d, not %d", got, code)
			}
			return nil
		case err != nil:
			return fmt.Errorf("expected the end, but %w", err)
		case !p.ignored(m):
			return fmt.Errorf("unexpected message before the end:\n\t%s", show(m))
		}
	}
}
