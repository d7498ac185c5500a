package transcript

import (
	"errors"
	"fmt"
	"strings"
)

// connection is the conversation between one client and the portal.
type connection struct {
	ui     UI
	asked  map[string]string // methods of requests in both directions, by direction and id
	closed bool
	ended  bool
}

func (t *connection) close() {
	if !t.closed {
		t.closed = true
		t.ui.CloseInput()
	}
}

// cut ends the connection as a crash of the client does.
func (t *connection) cut() {
	t.ui.Cut()
	t.closed, t.ended = true, true
	t.ui.Wait() // the exit code depends on the carrier
}

// note records the method of a request, or returns the method that a response answers.
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

// initialize sends the first request of a UI and reads the response.
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

// send sends the text of a step, which is a message unless it is invalid on purpose.
func (p *player) send(t *connection, s Step) error {
	value, err := decode(s.Text)
	object, isObject := value.(map[string]any)
	if err != nil || !isObject {
		if s.Verb == Send {
			return errors.New("it is not a JSON object; use >! to send invalid messages")
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

// checkSent checks that a message is valid by the schema, or invalid if it should be. Unknown methods are
// invalid.
func (p *player) checkSent(t *connection, verb string, message any) error {
	err := p.Schema.Check(message, t.note(">", "<", message))
	if method := member(message, "method"); err == nil && method != "" && !p.Schema.Knows(method) {
		err = fmt.Errorf("the method %q is unknown", method)
	}
	switch {
	case verb == Send && err != nil:
		return fmt.Errorf("the message to send is not valid by the schema: %w", err)
	case verb == SendWrong && err == nil:
		return errors.New("the message to send should be invalid, but the schema allows it")
	}
	return nil
}

// receive returns the next message and validates it with the schema.
func (p *player) receive(t *connection) (any, error) {
	line, err := t.ui.Receive(p.Patience)
	if err != nil {
		return nil, err
	}
	p.log.add(p.speaker+"< ", line)
	m, err := decode(line)
	if err != nil {
		return nil, fmt.Errorf("received a line that is not JSON: %w: %s", err, line)
	}
	answered := t.note("<", ">", m)
	if method := member(m, "method"); method != "" && !p.Schema.Knows(method) {
		return nil, fmt.Errorf("received the unknown method %q", method)
	}
	if err := p.Schema.Check(m, answered); err != nil {
		return nil, fmt.Errorf("received\n\t%s\nwhich is not valid by the schema: %w", line, err)
	}
	return m, nil
}
