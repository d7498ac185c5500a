package transcript

import (
	"errors"
	"fmt"
	"strings"
)

// connection is what one client and the portal say to each other.
type connection struct {
	ui     UI
	asked  map[string]string // the methods of requests in both directions, by direction and id
	closed bool
	ended  bool
}

func (t *connection) close() {
	if !t.closed {
		t.closed = true
		t.ui.CloseInput()
	}
}

// cut ends the talk as the death of the client does.
func (t *connection) cut() {
	t.ui.Cut()
	t.closed, t.ended = true, true
	t.ui.Wait() // how it ends then is the carrier's affair
}

// note remembers a request and gives the method that an answer is for.
func (t *connection) note(direction, other string, message any) (answered string) {
	object, _ := message.(map[string]any)
	id, there := object["id"]
	method, called := object["method"].(string)
	switch {
	case called && there:
		t.asked[direction+show(id)] = method
	case !called:
		return t.asked[other+show(id)]
	}
	return ""
}

// initialize sends the request that a UI begins with, and takes its answer.
func (p *player) initialize(t *connection, s Step) error {
	capabilities := map[string]any{}
	for _, name := range strings.Fields(s.Text) {
		capabilities["supports_"+name] = true
	}
	request := `{"id": "initialize", "method": "initialize", "params": {"protocol_version": "0",
		"client": {"name": "transcript", "version": "1"}, "ui_capabilities": ` + show(capabilities) + `}}`
	if err := p.send(t, Step{Line: s.Line, Verb: Send, Text: request}); err != nil {
		return err
	}
	return p.expect(t, []Step{{Line: s.Line, Verb: Expect, Text: `{"id": "initialize", "result": {"protocol_version": "0"}}`}})
}

// send sends a message, or what is none.
func (p *player) send(t *connection, s Step) error {
	value, err := decode(s.Text)
	object, isObject := value.(map[string]any)
	if err != nil || !isObject {
		if s.Verb == Send {
			return errors.New("it is no JSON object; what is wrong on purpose begins with >! instead")
		}
		return p.sendLine(t, s.Text)
	}
	if !has(object, "jsonrpc") {
		object["jsonrpc"] = "2.0"
	}
	filled, err := p.names.fill(object)
	if err != nil {
		return err
	}
	if err := p.checkSent(t, s.Verb, filled); err != nil {
		return err
	}
	line, err := encode(filled)
	if err != nil {
		return err
	}
	return p.sendLine(t, line)
}

func (p *player) sendLine(t *connection, line string) error {
	p.log.add(p.speaker+"> ", line)
	t.ui.Send(line)
	return nil
}

// checkSent looks that a message is as the schema says, or is not if it is to be
// wrong. What the schema does not know is wrong, too.
func (p *player) checkSent(t *connection, verb string, message any) error {
	err := p.Schema.Check(message, t.note(">", "<", message))
	if method := member(message, "method"); err == nil && method != "" && !p.Schema.Knows(method) {
		err = fmt.Errorf("nobody knows %q", method)
	}
	switch {
	case verb == Send && err != nil:
		return fmt.Errorf("what is sent is not as the schema says: %w", err)
	case verb == SendWrong && err == nil:
		return errors.New("what is sent is meant to be wrong, and the schema allows it")
	}
	return nil
}

// receive takes the next message and holds it against the schema.
func (p *player) receive(t *connection) (any, error) {
	line, err := t.ui.Receive(p.Patience)
	if err != nil {
		return nil, err
	}
	p.log.add(p.speaker+"< ", line)
	m, err := decode(line)
	if err != nil {
		return nil, fmt.Errorf("there came no JSON: %w: %s", err, line)
	}
	answered := t.note("<", ">", m)
	if method := member(m, "method"); method != "" && !p.Schema.Knows(method) {
		return nil, fmt.Errorf("there came %q, which nobody knows", method)
	}
	if err := p.Schema.Check(m, answered); err != nil {
		return nil, fmt.Errorf("there came\n\t%s\nwhich is not as the schema says: %w", line, err)
	}
	return m, nil
}
