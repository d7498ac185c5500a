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
	Spec   json.RawMessage // whatever [spec.Parse] takes
	Format string          // "react", which "" stands for
	Theme  string          // "light", which "" stands for, "dark" or "system"
	Layout string          // how it is laid out, in a word or a sentence; "": as suits the API
	// NoAuth leaves out what asks for keys and passwords, NoPagination what goes through lists page by page.
	NoAuth, NoPagination bool
}

// Generated is an interface that was made: code that was checked (see [code.Check]).
type Generated struct {
	Code        string
	Components  int
	Description string // what was made, in a sentence or two
}

// Generate makes an interface. Pieces of the code go to tell as they come, from the goroutine of the caller; what they make
// up is only a first draft if that had to be mended. Errors: [spec.Faults] for a description that is none, [ErrTooLarge], kind
// [fault.Invalid] for a format or theme that is not known, [ErrGeneration], that of ctx, those of starting a session.
func (t *Turn) Generate(ctx context.Context, r GenerateRequest, tell func(piece string)) (Generated, error) {
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
	made, err := t.host.generate(ctx, generation{"Interface to " + title(s), prompt, checkCode}, tell)
	if err != nil {
		return Generated{}, failed(ctx, ErrGeneration, err)
	}
	return Generated{made.code, len(made.summary.Components), cmp.Or(made.description, described(s, made.summary))}, nil
}

func (r GenerateRequest) check() error {
	switch {
	case r.Format != "" && r.Format != "react":
		return fault.Errorf(fault.Invalid, "format: %q is not known here; there is react", r.Format)
	case r.Theme != "" && r.Theme != "light" && r.Theme != "dark" && r.Theme != "system":
		return fault.Errorf(fault.Invalid, "theme: %q is not known here; there is light, dark and system", r.Theme)
	}
	return nil
}

// checkedAnswer is what a model has answered, with its code checked.
type checkedAnswer struct {
	answer
	mount   string // what was added to the code, at its end
	summary code.Summary
}

// generation is what the model is to do.
type generation struct {
	title, prompt string
	check         func(answer string) (checkedAnswer, error) // its error is for the model
}

// generate has a task done, and has the answer mended once if it cannot be taken.
func (h *Host) generate(ctx context.Context, task generation, tell func(string)) (m checkedAnswer, err error) {
	if err := h.fits(ctx, task.prompt); err != nil {
		return m, err
	}
	t, err := h.open(ctx, task.title, permission.Everywhere(permission.Deny))
	if err != nil {
		return m, err
	}
	defer t.close()
	var first codeExtractor
	text, err := t.prompt(ctx, task.prompt, func(piece string) {
		if piece = first.write(piece); piece != "" {
			tell(piece)
		}
	})
	for again := false; err == nil; again = true {
		var wrong error
		if m, wrong = task.check(text); wrong == nil {
			if !again && m.mount != "" {
				tell(m.mount) // behind pieces that are the code, not a draft of it
			}
			return m, nil
		}
		if again {
			return m, wrong
		}
		var repair string
		if repair, err = write("repair", map[string]any{"Fault": wrong.Error()}); err == nil {
			text, err = t.prompt(ctx, repair, func(string) {})
		}
	}
	return m, err
}

// checkAnswer reads an answer and checks the code in it. One that has none because it asks back or declines is taken as it is.
func checkAnswer(text string) (m checkedAnswer, err error) {
	if m.answer, err = read(text); err != nil || m.code == "" {
		return m, err
	}
	m.mount = code.Mount(m.code)
	m.code += m.mount
	m.summary, err = code.Check(code.WithoutMount(m.code)) // alone, or the mount could complete it
	return m, err
}

// checkCode takes code alone.
func checkCode(text string) (m checkedAnswer, err error) {
	if m, err = checkAnswer(text); err == nil && m.code == "" {
		err = errors.New("there is no block of code in the answer; nobody can be asked, so decide what is open")
	}
	return m, err
}

// failed is the error that a request ends with. What was refused before the agent was asked keeps its own words.
func failed(ctx context.Context, as *fault.Error, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrBusy), fault.KindOf(err) == fault.Unavailable, fault.KindOf(err) == fault.Busy:
		return err
	}
	return fault.Errorf(as.Kind, "%w: %w", as, err)
}

// fits refuses what the model could not read as a whole: the CLI would sum it up, and the interface would lack what was lost.
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
		return fault.Errorf(fault.Invalid, "%w: about %d tokens, and it has room for %d besides its answer", ErrTooLarge, tokens, window/2)
	}
	return nil
}

const (
	defaultWindow = 128_000 // tokens, of a model that does not say
	bytesPerToken = 3       // of JSON, on the careful side
)

func title(s *spec.Spec) string { return cmp.Or(s.Metadata.Title, "an API") }

// described is said where the model has not said what it made.
func described(s *spec.Spec, made code.Summary) string {
	return fmt.Sprintf("An interface to %s with %d operations, made of %d components.", title(s), count(s), len(made.Components))
}

func count(s *spec.Spec) (n int) {
	for range s.Operations() {
		n++
	}
	return n
}
