package ask

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot"
)

// asker puts questions of the agent to the person at the keyboard, one at a time.
type asker struct {
	session *copilot.Session
	notes   io.Writer
	keys    <-chan string      // lines; nil, which blocks, when nobody is there
	ended   bool               // there will be no more lines
	open    []copilot.Question // the first is shown
}

// newAsker listens to the keyboard until done is closed.
func newAsker(o Options, s *copilot.Session, done <-chan struct{}) *asker {
	a := &asker{session: s, notes: o.Notes, ended: o.Keys == nil}
	if o.Keys != nil {
		lines := make(chan string)
		a.keys = lines
		// Nothing can interrupt reading a keyboard: it may end with the process only.
		go func() {
			defer close(lines)
			for scanner := bufio.NewScanner(o.Keys); scanner.Scan(); {
				select {
				case lines <- strings.TrimSpace(scanner.Text()):
				case <-done:
					return
				}
			}
		}()
	}
	return a
}

// listen is where an answer comes from; nil, which blocks, while none is wanted,
// so that what a pipe holds answers one question after another.
func (a *asker) listen() <-chan string {
	if len(a.open) == 0 {
		return nil
	}
	return a.keys
}

// event follows which questions are open.
func (a *asker) event(b copilot.Body) {
	switch b := b.(type) {
	case copilot.QuestionAsked:
		a.open = append(a.open, b.Question)
		if len(a.open) == 1 {
			a.show()
		}
	case copilot.QuestionAnswered:
		i := slices.IndexFunc(a.open, func(q copilot.Question) bool { return q.ID == b.ID })
		if i < 0 {
			return
		}
		a.open = slices.Delete(a.open, i, i+1)
		if b.By != Origin && b.By != "" {
			a.printf("\nanswered by %s\n", b.By)
		}
		if i == 0 && len(a.open) > 0 {
			a.show()
		}
	}
}

// show puts the first open question. Without anybody to answer, a permission is
// refused; what needs an answer ends the run.
func (a *asker) show() {
	q := a.open[0]
	switch {
	case a.ended && q.Kind == copilot.AskPermission:
		a.answer(copilot.Answer{Reason: "There is nobody to ask. Run it in a terminal, or with --permissions allow."})
		return
	case a.ended:
		_ = a.session.Cancel() // it is open as long as its run
		return
	}
	if q.Kind == copilot.AskPermission {
		a.printf("\n%s [%s]\n  %s\nAllow? [y]es, [a]lways in this session, [n]o, or a reason to refuse: ",
			clean(q.Title), strings.Join(q.Names, ", "), strings.ReplaceAll(clean(q.Detail), "\n", "\n  "))
		return
	}
	a.printf("\n%s\n", clean(q.Text))
	for i, choice := range q.Choices {
		a.printf("  %d  %s\n", i+1, clean(choice))
	}
	a.printf("> ")
}

// line takes what was typed; ok is false when the input has ended.
func (a *asker) line(text string, ok bool) {
	if !ok {
		a.keys, a.ended = nil, true
		a.show()
		return
	}
	answer, ok := permit(text)
	if a.open[0].Kind == copilot.AskInput {
		answer, ok = choose(a.open[0], text)
	}
	if !ok {
		a.show()
		return
	}
	a.answer(answer)
}

func (a *asker) answer(answer copilot.Answer) {
	_ = a.session.Answer(a.open[0].ID, answer, Origin) // another client may have been first
}

// permit reads the answer to a permission.
func permit(text string) (copilot.Answer, bool) {
	switch strings.ToLower(text) {
	case "":
		return copilot.Answer{}, false
	case "y", "yes":
		return copilot.Answer{Approved: true}, true
	case "a", "always":
		return copilot.Answer{Approved: true, Remember: true}, true
	case "n", "no":
		return copilot.Answer{}, true
	}
	return copilot.Answer{Reason: text}, true
}

// choose reads the answer to a question: a choice, its number, or free text.
func choose(q copilot.Question, text string) (copilot.Answer, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		text = q.Choices[n-1]
	}
	return copilot.Answer{Text: text}, text != "" && (q.Freeform || slices.Contains(q.Choices, text))
}

func (a *asker) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.notes, format, args...) // a closed terminal ends the input as well
}
