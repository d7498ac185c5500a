package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/studio/code"
	"github.com/copilot-portal/portal/jobs/studio/spec"
)

// CustomizeRequest asks for a change of an interface.
type CustomizeRequest struct {
	Code    string
	Prompt  string          // the requested change
	Spec    json.RawMessage // as for [spec.Parse]; nil if unknown
	History []Message       // the preceding conversation, oldest first
}

// maxCode is the maximum size of code to change, in bytes.
const maxCode = 2 << 20

// Message is one message of an earlier conversation.
type Message struct {
	Role    string `json:"role"` // "user" or "assistant"
	Content string `json:"content"`
}

// Customized is a changed interface, or a question about the change.
type Customized struct {
	Code        string // "" if there is a question
	Components  int
	Description string
	Assumptions []string
	Question    string // to be answered in the next request, with this one in its history; "" if none
	Options     []string
}

// Customize changes an interface and keeps the rest. It passes pieces to send like [Turn.Generate], and returns the same errors, with
// [ErrCustomization] instead of [ErrGeneration], and kind [fault.Invalid] without code or prompt.
func (t *Turn) Customize(ctx context.Context, r CustomizeRequest, send func(piece string)) (Customized, error) {
	defer t.release()
	prompt, name, err := r.write()
	if err != nil {
		return Customized{}, err
	}
	if err := t.wait(ctx); err != nil {
		return Customized{}, err
	}
	m, err := t.host.generate(ctx, generation{"Change of " + name, prompt, checkAnswer}, send)
	switch {
	case err != nil:
		return Customized{}, failed(ctx, ErrCustomization, err)
	case m.refusal != "":
		return Customized{}, fault.Errorf(ErrCustomization.Kind, "%w: %s", ErrCustomization, m.refusal)
	case m.question != "":
		return Customized{Question: m.question, Options: m.options}, nil
	case strings.TrimSpace(code.WithoutMount(m.code)) == strings.TrimSpace(code.WithoutMount(r.Code)):
		return Customized{}, fault.Errorf(ErrCustomization.Kind, "%w: the model changed nothing", ErrCustomization)
	}
	return Customized{
		Code: m.code, Components: len(m.components), Description: cmp.Or(m.description, "Changed as asked: "+r.Prompt), Assumptions: m.assumptions,
	}, nil
}

// write returns the prompt and a name for the interface.
func (r CustomizeRequest) write() (prompt, name string, err error) {
	switch {
	case strings.TrimSpace(r.Code) == "":
		return "", "", fault.Errorf(fault.Invalid, "currentCode: is empty")
	case len(r.Code) > maxCode:
		return "", "", fault.Errorf(fault.Invalid, "currentCode: is larger than %d bytes", maxCode)
	case strings.TrimSpace(r.Prompt) == "":
		return "", "", fault.Errorf(fault.Invalid, "prompt: is empty")
	}
	name, specification := "an interface", ""
	if len(r.Spec) > 0 && string(r.Spec) != "null" {
		s, err := spec.Parse(r.Spec)
		if err != nil {
			return "", "", err
		}
		name, specification = "the interface to "+title(s), s.Outline()
	}
	r.Code = code.WithoutMount(r.Code) // the model does not need it
	prompt, err = write("customize", map[string]any{"Request": r, "Specification": specification})
	return prompt, name, err
}
