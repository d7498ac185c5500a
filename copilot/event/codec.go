package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// codecVersion is the version of the encoding. It increases when the meaning of a line changes, not for new types or
// fields.
const codecVersion = 1

// NoticeLater is the kind of a [Notice] that stands for an event of a later version of the portal. Raw is its whole
// encoding.
const NoticeLater = "portal.later_event"

// errLaterVersion reports that a line is well-formed and holds more than this version knows.
var errLaterVersion = errors.New("of a later version")

// line has the fields that all events have. They are the same in all versions.
type line struct {
	Version int             `json:"v"`
	Type    string          `json:"type"`
	Time    time.Time       `json:"time,omitzero"`
	Run     string          `json:"run,omitzero"`
	Agent   string          `json:"agent,omitzero"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// Encode returns the stable encoding of an event: one line of JSON without a line break, which [Decode] reads in this
// and all later versions. Invalid UTF-8 becomes U+FFFD. Raw JSON loses the space between its tokens; invalid raw JSON
// becomes a JSON string. It fails with kind [fault.Invalid] for a body that is not of this package, a year of more than
// four digits, and a number that is infinite or not a number.
func Encode(e Event) ([]byte, error) {
	if n, ok := e.Body.(Notice); ok && n.Kind == NoticeLater && isFromLaterVersion(e, n) {
		return n.Raw, nil
	}
	var raw []byte
	name, words := textOf(e.Body) // nearly all events
	if name == "" {
		var err error
		if name, raw, err = encodeBody(e.Body); err != nil {
			return nil, err
		}
	}
	out, err := appendHead(newLine(len(words.ID)+len(words.Text)+len(raw)), name, e)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "an event of the year %d cannot be encoded", e.Time.Year())
	}
	if len(raw) > len("{}") {
		out = append(append(out, `,"body":`...), raw...)
	}
	return append(appendTextBody(out, words), '}'), nil
}

// encodeBody returns the name of a body's type, and the body as JSON without escapes for HTML.
func encodeBody(b Body) (name string, raw []byte, err error) {
	kind, ok := kindsByBody[reflect.TypeOf(b)]
	if !ok {
		return "", nil, fault.Errorf(fault.Invalid, "an event of the type %T cannot be encoded", b)
	}
	b = b.visit(visitor{purpose: encoding})
	form := any(b)
	if kind.form != nil {
		form = kind.form(b)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(form); err != nil {
		return "", nil, fault.Errorf(fault.Invalid, "an event of the type %s cannot be encoded: %w", kind.name, err)
	}
	return kind.name, bytes.TrimSpace(out.Bytes()), nil
}

// decodeBody decodes a body of the named type.
func decodeBody(name string, raw json.RawMessage) (Body, error) {
	kind, ok := kindsByName[name]
	if !ok {
		return nil, errLaterVersion
	}
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	return kind.decode(raw)
}

// isFromLaterVersion reports whether Decode created a notice for an event of a later version. An agent cannot forge
// such an event with a notice of this name.
func isFromLaterVersion(e Event, n Notice) bool {
	d, err := Decode(n.Raw)
	if err != nil || !d.Time.Equal(e.Time) || d.Run != e.Run || d.Agent != e.Agent {
		return false
	}
	is, ok := d.Body.(Notice)
	return ok && is.Kind == NoticeLater && bytes.Equal(is.Raw, n.Raw)
}

// Decode decodes the output of [Encode]. An event of a later version (with an unknown type, field or version number)
// becomes a [Notice] of kind [NoticeLater], which is encoded unchanged. Data is not kept. It fails with kind
// [fault.Invalid] for data that was never an event.
func Decode(data []byte) (Event, error) {
	data = bytes.TrimSpace(data)
	if bytes.ContainsAny(data, "\r\n") {
		return Event{}, fault.Errorf(fault.Invalid, "an encoded event has one line")
	}
	var l line
	err := decode(data, &l)
	switch {
	case err != nil && !errors.Is(err, errLaterVersion):
		return Event{}, fault.Errorf(fault.Invalid, "invalid encoded event: %w", err)
	case l.Version < 1 || l.Type == "":
		return Event{}, fault.Errorf(fault.Invalid, "invalid encoded event: it has no version or no type")
	case l.Version > codecVersion:
		err = errLaterVersion
	}
	e := Event{Time: formatUTC(l.Time), Run: l.Run, Agent: l.Agent}
	if err == nil {
		e.Body, err = decodeBody(l.Type, l.Body)
	}
	switch {
	case errors.Is(err, errLaterVersion):
		e.Body = Notice{Kind: NoticeLater, Raw: bytes.Clone(data)}
	case err != nil:
		return Event{}, fault.Errorf(fault.Invalid, "invalid encoded event of the type %s: %w", l.Type, err)
	}
	return e, nil
}

// decode decodes a JSON value. If the value has unknown fields, it returns errLaterVersion.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err == nil && d.InputOffset() == int64(len(data)) {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return errLaterVersion
}

// formatUTC returns the time as it is encoded: in UTC, unless its year does not have four digits there.
func formatUTC(t time.Time) time.Time {
	if u := t.UTC(); u.Year() >= 0 && u.Year() <= 9999 {
		return u
	}
	return t
}
