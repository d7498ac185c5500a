package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/studio/code"
	"github.com/copilot-portal/portal/jobs/studio/spec"
)

// GenerateRequest asks for an interface to an API.
type GenerateRequest struct {
	Spec   json.RawMessage // as for [spec.Parse]
	Format string          // "react", the default
	Theme  string          // "light", the default, "dark" or "system"
	Layout string          // a word or a sentence; "" leaves it to the model
	// NoAuth omits input of keys and passwords, NoPagination omits paging through lists.
	NoAuth, NoPagination bool
}

// Generated is a new interface: code that passes [code.Check].
type Generated struct {
	Code        string
	Components  int
	Description string // a sentence or two
}

// Generate generates an interface. It passes pieces of the code to send as they arrive, on the caller's goroutine; together
// they are only a draft if the code had to be repaired. Errors: [spec.Faults] for an invalid description, [ErrTooLarge], kind
// [fault.Invalid] for an unknown format or theme, [ErrGeneration], that of ctx, those of starting a session.
func (t *Turn) Generate(ctx context.Context, r GenerateRequest, send func(piece string)) (Generated, error) {
	defer t.release()
	if err := r.check(); err != nil {
		return Generated{}, err
	}
	s, err := spec.Parse(r.Spec)
	if err != nil {
		return Generated{}, err
	}
	prompt, err := write("generate", map[string]any{
		"Request": r, "Theme": cmp.Or(r.Theme, "light"), "Specification": s.Outline(), "Operations": count(s),
	})
	if err != nil {
		return Generated{}, err
	}
	if err := t.wait(ctx); err != nil {
		return Generated{}, err
	}
	made, err := t.host.generate(ctx, generation{"Interface to " + title(s), prompt, checkCode}, send)
	if err != nil {
		return Generated{}, failed(ctx, ErrGeneration, err)
	}
	components := len(made.components)
	usual := fmt.Sprintf("An interface to %s with %d operations, made of %d components.", title(s), count(s), components)
	return Generated{made.code, components, cmp.Or(made.description, usual)}, nil
}

func (r GenerateRequest) check() error {
	switch {
	case r.Format != "" && r.Format != "react":
		return fault.Errorf(fault.Invalid, "format: %q is unknown; use react", r.Format)
	case r.Theme != "" && r.Theme != "light" && r.Theme != "dark" && r.Theme != "system":
		return fault.Errorf(fault.Invalid, "theme: %q is unknown; use light, dark or system", r.Theme)
	}
	return nil
}

// checkedAnswer is an answer with checked code.
type checkedAnswer struct {
	answer
	mount      string // appended to the code
	components []string
}

// generation is a task of the model.
type generation struct {
	title, prompt string
	check         func(answer string) (checkedAnswer, error) // its error is for the model
}

// generate has the model do a task and, if necessary, repair its answer once.
func (h *Host) generate(ctx context.Context, task generation, send func(string)) (m checkedAnswer, err error) {
	if err := h.fits(ctx, task.prompt); err != nil {
		return m, err
	}
	reader, err := h.open(ctx, task.title, permission.Everywhere(permission.Deny))
	if err != nil {
		return m, err
	}
	defer func() { _ = reader.Session().Close() }() // it stays stored; a suspended one is closed already
	var first codeExtractor
	text, err := sendPrompt(ctx, reader, task.prompt, func(piece string) {
		if piece = first.write(piece); piece != "" {
			send(piece)
		}
	})
	for again := false; err == nil; again = true {
		var wrong error
		if m, wrong = task.check(text); wrong == nil {
			if !again && m.mount != "" {
				send(m.mount) // the pieces were the final code, not a draft
			}
			return m, nil
		}
		if again {
			return m, wrong
		}
		var repair string
		if repair, err = write("repair", map[string]any{"Fault": wrong.Error()}); err == nil {
			text, err = sendPrompt(ctx, reader, repair, func(string) {})
		}
	}
	return m, err
}

// checkAnswer parses an answer and checks its code. It accepts a question or a refusal without code.
func checkAnswer(text string) (m checkedAnswer, err error) {
	if m.answer, err = read(text); err != nil || m.code == "" {
		return m, err
	}
	m.mount = code.Mount(m.code)
	m.code += m.mount
	m.components, err = code.Check(code.WithoutMount(m.code)) // alone, because the mount could complete it
	return m, err
}

// checkCode is checkAnswer, and requires code.
func checkCode(text string) (m checkedAnswer, err error) {
	if m, err = checkAnswer(text); err == nil && m.code == "" {
		err = errors.New("the answer has no code block; no one can answer questions, so decide yourself")
	}
	return m, err
}

// failed returns the error of a request. It does not wrap an error from before the agent was asked.
func failed(ctx context.Context, as *fault.Error, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrBusy), fault.KindOf(err) == fault.Unavailable, fault.KindOf(err) == fault.Busy:
		return err
	}
	return fault.Errorf(as.Kind, "%w: %w", as, err)
}

// fits rejects a prompt that exceeds half of the context window: the CLI would summarize it, and the interface would be incomplete.
func (h *Host) fits(ctx context.Context, prompt string) error {
	window := int64(defaultWindow)
	models, err := h.options.Sessions.Models(ctx)
	if err != nil {
		return err
	}
	for i, m := range models {
		named := m.ID == h.options.Model || m.Name == h.options.Model || h.options.Model == "" && i == 0
		if named && m.Context > 0 {
			window = m.Context
		}
	}
	if tokens := int64(len(prompt)) / bytesPerToken; tokens > window/2 {
		return fault.Errorf(fault.Invalid, "%w: about %d tokens, but the model has room for %d besides its answer", ErrTooLarge, tokens, window/2)
	}
	return nil
}

const (
	defaultWindow = 128_000 // for a model without a known window
	bytesPerToken = 3       // of JSON, at least
)

func title(s *spec.Spec) string { return cmp.Or(s.Metadata.Title, "an API") }

func count(s *spec.Spec) (n int) {
	for range s.Operations() {
		n++
	}
	return n
}
