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

// asker puts the agent's questions to the user at the keyboard, one at a time.
type asker struct {
	session *copilot.Session
	notes   io.Writer
	keys    <-chan string    // lines of input; nil, which blocks, without a keyboard
	person  bool             // a person types the lines
	ended   bool             // the input has ended
	open    []event.Question // the first is being shown
	form    *formInput       // state of the first question, if it is a form in progress
}

// maxLine is the longest line of input, in bytes. A longer one ends the input.
const maxLine = 1 << 20

// newAsker reads the keyboard until done is closed.
func newAsker(o Options, s *copilot.Session, done <-chan struct{}) *asker {
	a := &asker{session: s, notes: o.Notes, person: o.Person, ended: o.Keys == nil}
	if o.Keys != nil {
		lines := make(chan string)
		a.keys = lines
		// Reading a keyboard cannot be interrupted: this goroutine may end only with the process.
		go func() {
			defer close(lines)
			scanner := bufio.NewScanner(o.Keys)
			scanner.Buffer(nil, maxLine)
			for scanner.Scan() {
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

// input returns the source of answers. It returns nil, which blocks, while no question is open,
// so that the lines of a pipe answer one question after another. A person's lines are always read: one that
// waited would answer a question that its writer has not seen.
func (a *asker) input() <-chan string {
	if len(a.open) == 0 && !a.person {
		return nil
	}
	return a.keys
}

// event tracks the open questions. Calls of client tools are not for the
// user.
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

// questionClosed removes a question that another client or the agent has ended.
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

// nextQuestion continues with the question after the first.
func (a *asker) nextQuestion() {
	a.open, a.form = a.open[1:], nil
	if len(a.open) > 0 {
		a.show()
	}
}

// show prints the first open question.
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

// nobody is the reason of answers given for lack of a user.
const nobody = "There is nobody to ask. Run it in a terminal"

// refuseUnanswerable answers a question for lack of a user. A question that needs an answer ends the
// run. A plan is printed first, because it is worth reading.
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
		_ = a.session.Cancel("") // fails only if the run has ended
	}
}

// showForm asks for the next field, or for a confirmation after the last.
func (a *asker) showForm(q event.Question) {
	if a.form == nil {
		a.form = newFormInput(q.Form)
		a.printf("\n%s asks: %s\nAn empty line means the default in brackets, or omits an optional field; %s declines the form.\n",
			oneLine(cmp.Or(q.Source, "The agent")), plain.Text(q.Text), decline)
	}
	if len(a.form.fields) == 0 {
		a.printf("Agree? [y]es or [n]o: ")
		return
	}
	a.form.show(a.printf)
}

// line handles a line of input; ok is false after the end of the input.
func (a *asker) line(text string, ok bool) {
	if !ok {
		a.keys, a.ended = nil, true
		if len(a.open) > 0 {
			a.show()
		}
		return
	}
	if len(a.open) == 0 {
		a.printf("\nnothing is asked at the moment, so this line is ignored\n")
		return
	}
	answer, ok := a.read(a.open[0], text)
	if !ok {
		a.show()
		return
	}
	a.answer(answer)
}

// read reads the answer to a question; ok is false if the question must be asked again.
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

// fill handles a line for a form.
func (a *asker) fill(text string) (event.Answer, bool) {
	switch {
	case text == decline:
		return event.Answer{}, true
	case len(a.form.fields) == 0:
		return agree(text)
	}
	if err := a.form.read(text); err != nil {
		a.printf("%s\n", plain.Text(err.Error()))
		return event.Answer{}, false
	}
	return event.Answer{Approved: true, Fields: a.form.values}, len(a.form.fields) == 0
}

// answer answers the first question. An invalid answer leaves the question open. If another
// client was first, an event closes the question.
func (a *asker) answer(answer event.Answer) {
	err := a.session.Answer(a.open[0].ID, answer, Origin)
	switch {
	case err == nil:
		a.nextQuestion()
	case errors.Is(err, fault.ErrAlreadyAnswered):
	case a.ended:
		_ = a.session.Cancel("") // the question would stay open forever
	case fault.KindOf(err) == fault.Invalid:
		a.printf("%s\n", plain.Text(err.Error()))
		a.form = nil
		a.show()
	}
}

func (a *asker) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.notes, format, args...) // the input of a closed terminal ends, too
}
