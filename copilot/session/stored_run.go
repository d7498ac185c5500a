package session

import (
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// replacing is the stored form of a queued prompt that replaces tools, which events do not have. That of others is the event.
type replacing struct {
	Event json.RawMessage `json:"event"`
	Tools []event.Tool    `json:"tools"`
}

// Encoded returns the stored form of a queued prompt, masked; nil if it cannot be encoded. [DecodeRun] reads it.
func (r *Run) Encoded() []byte {
	if r.encoded != nil {
		return r.encoded
	}
	r.encoded, _ = event.Encode(event.Event{Run: r.ID, Body: event.UserMessage{Prompt: event.MaskPrompt(r.Prompt)}})
	if r.encoded != nil && r.tools != nil {
		r.encoded, _ = json.Marshal(replacing{r.encoded, *r.tools})
	}
	return r.encoded
}

// DecodeRun returns the run of a queued prompt for its stored form.
func DecodeRun(line []byte) (*Run, error) {
	var with replacing
	if json.Unmarshal(line, &with) == nil && with.Event != nil {
		line = with.Event
	}
	e, err := event.Decode(line)
	if err != nil {
		return nil, err
	}
	m, ok := e.Body.(event.UserMessage)
	if !ok {
		return nil, fault.Errorf(fault.Internal, "a queued prompt is stored as %T", e.Body)
	}
	if with.Event != nil {
		m.Prompt.Tools = &with.Tools
	}
	return NewRun(e.Run, m.Prompt), nil
}
