package jobs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// line is the stored form of an event. The event's number is that of the line.
type line struct {
	Time  int64           `json:"t"` // in milliseconds
	Kind  string          `json:"k"`
	Body  json.RawMessage `json:"b,omitempty"`
	Event *line           `json:"told,omitempty"` // for a WorkEvent, the event of its task
}

func encode(e Event) ([]byte, error) {
	l, err := encodeLine(e.Body)
	if err != nil {
		return nil, err
	}
	l.Time = e.Time.UnixMilli()
	return json.Marshal(l)
}

func encodeLine(b Body) (l line, err error) {
	l.Kind = Name(b)
	if wrapped, ok := b.(WorkEvent); ok {
		inner, err := encodeLine(wrapped.Body)
		if err != nil {
			return l, err
		}
		l.Event = &inner
	}
	l.Body, err = json.Marshal(b)
	return l, err
}

// decode decodes a line that encode wrote.
func decode(number uint64, data []byte) (Event, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return Event{}, err
	}
	body, err := l.body()
	return Event{Number: number, Time: time.UnixMilli(l.Time).UTC(), Body: body}, err
}

func (l line) body() (Body, error) {
	if l.Kind == nameWorkEvent {
		return l.workEvent()
	}
	for _, t := range eventTypes() {
		if t.name != l.Kind {
			continue
		}
		into := reflect.New(reflect.TypeOf(t.zero))
		if err := json.Unmarshal(l.Body, into.Interface()); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Kind, err)
		}
		body, _ := into.Elem().Interface().(Body) // all types are bodies
		return body, nil
	}
	return nil, fmt.Errorf("unknown event %q", l.Kind)
}

func (l line) workEvent() (Body, error) {
	var b WorkEvent
	if err := json.Unmarshal(l.Body, &b); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Kind, err)
	}
	if l.Event == nil || l.Event.Kind == nameWorkEvent {
		return nil, fmt.Errorf("%s has no content", l.Kind)
	}
	var err error
	b.Body, err = l.Event.body()
	return b, err
}
