package gallery

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/jobs/studio"
)

var (
	errBusy     = fault.Errorf(fault.Busy, "this interface is being generated or changed; wait for that, or stop it")
	errStopping = fault.Errorf(fault.Unavailable, "the portal is stopping")
)

// request is work on an interface, in a turn of the studio.
type request func(ctx context.Context, turn *studio.Turn, send func(piece string)) (result, error)

// result is a new version, or a question.
type result struct {
	source   string
	version  Version
	question *Question
}

// Make generates a new version from the description. Errors: kinds [fault.NotFound], [fault.Busy], also if another process holds the
// interface, and [fault.Unavailable]. Later errors are events.
func (h *Host) Make(ctx context.Context, id string) error {
	return h.begin(ctx, id, "", func(Item) (request, error) {
		description, err := h.description(ctx, id)
		return func(ctx context.Context, turn *studio.Turn, send func(string)) (result, error) {
			made, err := turn.Generate(ctx, studio.GenerateRequest{Spec: description, Theme: "system"}, send)
			return result{source: made.Code, version: Version{Description: made.Description, Components: made.Components}}, err
		}, err
	})
}

// Change changes the current version as the prompt says, or answers the open question. Errors: those of [Host.Make], and kind
// [fault.Invalid] for a prompt that is empty or too long. Later errors are events.
func (h *Host) Change(ctx context.Context, id, prompt string) error {
	prompt = strings.TrimSpace(prompt)
	switch {
	case prompt == "":
		return fault.Errorf(fault.Invalid, "say what to change")
	case len(prompt) > maxPrompt:
		return fault.Errorf(fault.Invalid, "the request is longer than %d bytes", maxPrompt)
	}
	return h.begin(ctx, id, prompt, func(i Item) (request, error) {
		if i.Current == 0 {
			return nil, fault.Errorf(fault.Invalid, "there is no version to change yet")
		}
		description, err := h.description(ctx, id)
		if err != nil {
			return nil, err
		}
		source, err := h.source(ctx, id, i.Current)
		return func(ctx context.Context, turn *studio.Turn, send func(string)) (result, error) {
			made, err := turn.Customize(ctx, studio.CustomizeRequest{Code: string(source), Prompt: prompt, Spec: description, History: i.history()}, send)
			if err != nil {
				return result{}, err
			}
			fullPrompt := prompt
			if i.Question != nil { // the prompt answers it
				fullPrompt = plain.Cut(i.Question.Prompt, maxPrompt) + "\n→ " + prompt
			}
			if made.Question != "" {
				return result{question: &Question{Prompt: fullPrompt, Text: made.Question, Options: made.Options}}, nil
			}
			v := Version{
				Description: made.Description, Components: made.Components, Assumptions: made.Assumptions, Prompt: fullPrompt, Based: i.Current,
			}
			return result{source: made.Code, version: v}, nil
		}, err
	})
}

// maxHistory is the maximum number of versions in the history of a prompt.
const maxHistory = 20

// history returns the conversation that led to the current version, including the open question.
func (i Item) history() (list []studio.Message) {
	line := i.ancestors()
	for _, v := range line[max(0, len(line)-maxHistory):] {
		list = append(list, studio.Message{Role: "user", Content: cmp.Or(v.Prompt, "Generate an interface for this API")},
			studio.Message{Role: "assistant", Content: v.Description})
	}
	if q := i.Question; q != nil {
		list = append(list, studio.Message{Role: "user", Content: q.Prompt}, studio.Message{Role: "assistant", Content: q.Text})
	}
	return list
}

// begin starts a request unless another is running. It reserves the interface first: what it reads would be old when another request ends
// meanwhile, and what it stores would replace what that one has stored.
func (h *Host) begin(ctx context.Context, id, prompt string, prepare func(Item) (request, error)) error {
	r, _, err := h.existing(ctx, id)
	if err != nil {
		return err
	}
	working, err := h.reserve(id, r, prompt)
	if err != nil {
		return err
	}
	do, err := h.prepare(ctx, id, prompt, prepare)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		r.release()
		r.publish(Changed, "") // who has seen the request looks again
		h.work.Done()
		return err
	}
	r.publish(Began, "")
	go func() {
		defer h.work.Done()
		h.perform(working, id, r, do)
	}()
	return nil
}

// reserve begins the work on an interface, which [activeItem.release] ends, and returns its context.
func (h *Host) reserve(id string, r *activeItem, prompt string) (working context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ctx.Err() != nil:
		return nil, errStopping
	case h.activeItems[id] != r:
		return nil, errNotFound // it was deleted in the meantime
	case r.work != nil:
		return nil, errBusy
	}
	working, r.cancel = context.WithCancel(h.ctx)
	r.work = &Work{Prompt: prompt, Since: now(), After: r.events.Last()}
	h.work.Add(1)
	return working, nil
}

// release ends the work on an interface. The caller must hold the host's lock.
func (r *activeItem) release() {
	r.cancel()
	r.work, r.cancel = nil, nil
}

// prepare returns what a request does, and stores its prompt.
func (h *Host) prepare(ctx context.Context, id, prompt string, prepare func(Item) (request, error)) (request, error) {
	i, err := h.log.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(i.Versions) >= maxVersions {
		return nil, fault.Errorf(fault.Invalid, "the interface has %d versions, the maximum; create another one from its description", maxVersions)
	}
	do, err := prepare(i)
	if err != nil {
		return nil, err
	}
	return do, h.hold(id, prompt) // before the model works for nothing
}

// perform runs a request and publishes its end.
func (h *Host) perform(ctx context.Context, id string, r *activeItem, do request) {
	var made result
	turn, err := h.options.Studio.Turn()
	if err == nil {
		made, err = do(ctx, turn, func(piece string) { r.publish(Piece, piece) })
	}
	if err != nil && ctx.Err() != nil {
		err = fault.Errorf(fault.Unavailable, "the request was stopped")
	}
	if err != nil {
		h.options.Log.Info("interface request failed", "interface", id, "error", err)
	}
	kept := h.updateItem(id, func(i *Item) (line []byte, none error) {
		i.Error = ""
		switch {
		case err != nil:
			i.Error = plain.Cut(err.Error(), 4000)
		case made.question != nil:
			i.Question, i.Request = made.question, ""
		default:
			i.Question, i.Request = nil, ""
			line = i.add(made)
		}
		return line, nil
	})
	lost := ""
	if kept != nil {
		lost = kept.Error()
		h.options.Log.Error("cannot store interface version", "interface", id, "error", kept)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.release()
	r.publish(Ended, lost)
}

// add makes a result the current version, and returns the line to store.
func (i *Item) add(made result) []byte {
	v := made.version
	v.Number, v.Created, v.Bytes = len(i.Versions)+1, now(), len(made.source)
	i.Versions = append(i.Versions, v)
	i.Current = v.Number
	return []byte(made.source)
}

// updateItem changes a stored interface. It is not cancelled with a request, because results must not be lost.
func (h *Host) updateItem(id string, change func(*Item) (line []byte, err error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	r, _, err := h.existing(ctx, id)
	if err != nil {
		return err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	i, err := h.log.Head(ctx, id)
	if err != nil {
		return err
	}
	i.Versions = append([]Version{}, i.Versions...) // readers share the slice
	line, err := change(&i)
	if err != nil {
		return err
	}
	i.Revision++
	var lines [][]byte
	if line != nil {
		lines = append(lines, line)
	}
	if err = h.log.Replace(ctx, i, lines...); err == nil {
		r.revision = i.Revision
	}
	return err
}

// hold makes this process the one that changes a stored interface, and stores the prompt of a request in place of the previous one.
// Errors: kind [fault.Busy] if another process holds it.
func (h *Host) hold(id, prompt string) error {
	return h.updateItem(id, func(i *Item) ([]byte, error) {
		i.Request, i.Error = prompt, ""
		return nil, nil
	})
}

// change is updateItem for changes that are not requests; it publishes them.
func (h *Host) change(id string, change func(*Item) error) error {
	err := h.updateItem(id, func(i *Item) ([]byte, error) { return nil, change(i) })
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if r := h.activeItems[id]; r != nil { // otherwise it was deleted in the meantime
			r.publish(Changed, "")
		}
	}
	return err
}

// Revert makes a version the current one. Later versions stay; the open question is withdrawn. Errors: kinds [fault.NotFound],
// [fault.Busy].
func (h *Host) Revert(_ context.Context, id string, version int) error {
	if h.isBusy(id) {
		return errBusy
	}
	return h.change(id, func(i *Item) error {
		if _, ok := i.version(version); !ok || version == 0 {
			return fault.Errorf(fault.NotFound, "the interface has no version %d", version)
		}
		i.Current, i.Question, i.Error, i.Request = version, nil, "", ""
		return nil
	})
}

func (h *Host) isBusy(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.activeItems[id]
	return r != nil && r.work != nil
}

// Cancel cancels the current request, or withdraws the open question and the failed request.
func (h *Host) Cancel(_ context.Context, id string) error {
	h.mu.Lock()
	r := h.activeItems[id]
	working := r != nil && r.work != nil
	if working {
		r.cancel()
	}
	h.mu.Unlock()
	if working {
		return nil
	}
	return h.change(id, func(i *Item) error {
		i.Question, i.Error, i.Request = nil, "", ""
		return nil
	})
}

// Delete deletes an interface with all of its versions. Errors: kinds [fault.NotFound], [fault.Busy].
func (h *Host) Delete(ctx context.Context, id string) error {
	if h.isBusy(id) {
		return errBusy
	}
	i, err := h.log.Head(ctx, id)
	if err != nil {
		return err
	}
	if err := h.log.Delete(ctx, i); err != nil {
		return err
	}
	h.forget(id)
	return nil
}

// Compare returns the unified diff of the code of two versions, "" if they are equal. Error: kind [fault.NotFound].
func (h *Host) Compare(ctx context.Context, id string, from, to int) (string, error) {
	_, before, err := h.Source(ctx, id, from)
	if err != nil {
		return "", err
	}
	_, after, err := h.Source(ctx, id, to)
	if err != nil {
		return "", err
	}
	return unified(fmt.Sprintf("version %d", from), fmt.Sprintf("version %d", to), before, after)
}

// unified returns the difference of two texts like diff -u, ignoring a missing line end at their end.
func unified(nameA, nameB, a, b string) (string, error) {
	a, b = withLineEnd(a), withLineEnd(b)
	diff, err := udiff.ToUnified(nameA, nameB, a, udiff.Lines(a, b), udiff.DefaultContextLines)
	if err != nil {
		return "", fault.Errorf(fault.Internal, "the versions cannot be compared: %w", err)
	}
	return diff, nil
}

func withLineEnd(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}
