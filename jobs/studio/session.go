package studio

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"maps"
	"strings"
	"text/template"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/permission"
)

// open starts a session. The agent starts with the first prompt.
func (h *Host) open(ctx context.Context, title string, policy permission.Policy) (*follow.SessionReader, error) {
	s, err := h.options.Sessions.Start(ctx, copilot.Start{
		Origin: Origin, Model: h.options.Model, Directory: h.options.Directory, Policy: policy, WithoutAgent: true,
	})
	if err != nil {
		return nil, err
	}
	_ = s.Rename(ctx, title) // without a title, lists show the beginning of the prompt
	return h.reader(s), nil
}

// reader returns a reader of what happens in a session from now on.
func (h *Host) reader(s *copilot.Session) *follow.SessionReader {
	return follow.Session(h.options.Sessions, s, s.Record().Last())
}

// sendPrompt sends a prompt to the agent and returns its last message. It passes pieces of messages to send as they arrive. When
// ctx ends, it cancels the run without waiting for it.
func sendPrompt(ctx context.Context, reader *follow.SessionReader, text string, send func(piece string)) (answer string, err error) {
	run, err := reader.Prompt(event.Prompt{Text: text, By: Origin})
	if err != nil {
		return "", err
	}
	for b, err := range run.Events(ctx) {
		if err != nil {
			return "", cmp.Or(ctx.Err(), err)
		}
		for _, e := range b.Entries { // a gap loses only pieces: the whole message follows
			if piece, ok := e.Value.Body.(event.MessageDelta); ok && e.Value.Run == run.ID {
				send(piece.Text)
			}
		}
	}
	return run.Text, outcome(run.RunView)
}

// outcome returns the error of a run, nil if it completed.
func outcome(run follow.RunView) error {
	switch run.Outcome {
	case event.Completed:
		return nil
	case event.Cancelled:
		return fault.Errorf(fault.Internal, "someone stopped the agent")
	case event.Interrupted:
		return fault.ErrStopping
	case event.Failed:
	}
	return fault.Errorf(fault.Internal, "the agent failed: %s", cmp.Or(run.Reason, "it gave no reason"))
}

//go:embed prompts/*.md
var prompts embed.FS

// write executes the template of a prompt. User content is enclosed by lines with a random code, which it cannot contain, so
// nothing in it can pass for an instruction.
func write(name string, values map[string]any) (string, error) {
	t, err := template.New(name+".md").Option("missingkey=error").ParseFS(prompts, "prompts/*.md")
	if err != nil {
		return "", err
	}
	values = maps.Clone(values)
	var code [8]byte
	_, _ = rand.Read(code[:]) // never fails
	values["Code"] = hex.EncodeToString(code[:])
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return strings.TrimSpace(out.String()) + "\n", err
}
