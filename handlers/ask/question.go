package ask

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/plain"
)

// asker puts questions of the agent to the person at the keyboard, one at a time.
type asker struct {
	session *copilot.Session
	notes   io.Writer
	keys    <-chan string    // lines; nil, which blocks, when nobody is there
	ended   bool             // there will be no more lines
	open    []event.Question // the first is shown
	filling *formInput       // of the first, if it is a form that was begun
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

// input is where an answer comes from; nil, which blocks, while none is wanted,
// so that what a pipe holds answers one question after another.
func (a *asker) input() <-chan string {
	if len(a.open) == 0 {
		return nil
	}
	return a.keys
}

// event follows which questions are open. The tools of clients are not for a
// person.
func (a *asker) event(b event.Body) {
	switch b := b.(type) {
	case event.QuestionAsked:
		if b.Question.Kind == event.AskTool {
			return
		}
		a.open = append(a.open, b.Question)
		if len(a.open) == 1 {
			a.show()
		}
	case event.QuestionClosed:
		a.questionClosed(b)
	}
}

// questionClosed takes a question away that somebody else has ended.
func (a *asker) questionClosed(b event.QuestionClosed) {
	i := slices.IndexFunc(a.open, func(q event.Question) bool { return q.ID == b.ID })
	if i < 0 {
		return
	}
	switch {
	case b.Ending == event.Expired:
		a.printf("\nnobody answered in time\n")
	case b.By != "":
		a.printf("\nanswered by %s\n", b.By)
	}
	if i == 0 {
		a.nextQuestion()
		return
	}
	a.open = slices.Delete(a.open, i, i+1)
}

// nextQuestion goes on to the question behind the first.
func (a *asker) nextQuestion() {
	a.open, a.filling = a.open[1:], nil
	if len(a.open) > 0 {
		a.show()
	}
}

// show puts the first open question.
func (a *asker) show() {
	q := a.open[0]
	switch {
	case a.ended:
		a.refuseUnanswerable(q)
	case q.Kind == event.AskForm:
		a.showForm(q)
	default:
		a.printf("%s", questionText(q))
	}
}

// nobody is why questions are refused that nobody can answer.
const nobody = "There is nobody to ask. Run it in a terminal"

// refuseUnanswerable ends a question that nobody can answer. What needs an answer ends the
// run. A plan is worth reading all the same.
func (a *asker) refuseUnanswerable(q event.Question) {
	switch q.Kind {
	case event.AskPermission:
		a.answer(event.Answer{Reason: nobody + ", or with --permissions allow."})
	case event.AskPlan:
		a.printf("\n%s\n", indent(q.Text))
		a.answer(event.Answer{Reason: nobody + "."})
	case event.AskForm, event.AskSignIn:
		a.answer(event.Answer{Reason: nobody + "."})
	case event.AskInput, event.AskTool:
		_ = a.session.Cancel("") // it is open as long as its run
	}
}

// showForm asks for the next field, or answers when there is none left.
func (a *asker) showForm(q event.Question) {
	if a.filling == nil {
		a.filling = newFormInput(q.Form)
		a.printf("\n%s asks: %s\nAn empty line takes what stands in brackets, or leaves out what is optional; %s refuses all.\n",
			oneLine(plain.Text(cmp.Or(q.Source, "The agent"))), plain.Text(q.Text), decline)
	}
	if len(a.filling.fields) == 0 {
		a.printf("Agree? [y]es or [n]o: ")
		return
	}
	a.filling.show(a.printf)
}

// line takes what was typed; ok is false when the input has ended.
func (a *asker) line(text string, ok bool) {
	if !ok {
		a.keys, a.ended = nil, true
		a.show()
		return
	}
	answer, ok := a.read(a.open[0], text)
	if !ok {
		a.show()
		return
	}
	a.answer(answer)
}

// read reads the answer to a question; not ok if it is to be put again.
func (a *asker) read(q event.Question, text string) (event.Answer, bool) {
	switch q.Kind {
	case event.AskPermission:
		return permit(q, text)
	case event.AskPlan:
		return approve(q, text)
	case event.AskSignIn:
		return agree(text)
	case event.AskForm:
		return a.fill(text)
	case event.AskInput, event.AskTool:
	}
	return choose(q, text)
}

// fill takes a line of a form.
func (a *asker) fill(text string) (event.Answer, bool) {
	switch {
	case text == decline:
		return event.Answer{}, true
	case len(a.filling.fields) == 0:
		return agree(text)
	}
	if err := a.filling.read(text); err != nil {
		a.printf("%s\n", plain.Text(err.Error()))
		return event.Answer{}, false
	}
	return event.Answer{Approved: true, Fields: a.filling.values}, len(a.filling.fields) == 0
}

// answer gives an answer. One that is refused leaves the question open; another
// client may have been first, which an event tells.
func (a *asker) answer(answer event.Answer) {
	err := a.session.Answer(a.open[0].ID, answer, Origin)
	switch {
	case err == nil:
		a.nextQuestion()
	case errors.Is(err, fault.ErrAlreadyAnswered):
	case a.ended:
		_ = a.session.Cancel("") // as it waits for ever
	case fault.KindOf(err) == fault.Invalid:
		a.printf("%s\n", plain.Text(err.Error()))
		a.filling = nil
		a.show()
	}
}

func (a *asker) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.notes, format, args...) // a closed terminal ends the input as well
}
