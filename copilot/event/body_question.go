package event

// Questions of the agent and their ends.
type (
	// QuestionAsked waits for [copilot.Session.Answer]. It is encoded as the question.
	QuestionAsked struct{ Question Question }
	// QuestionClosed ends a question, whether it was answered, withdrawn or expired.
	QuestionClosed struct {
		ID     string       `json:"id,omitzero"`
		Kind   QuestionKind `json:"kind,omitzero"`
		By     string       `json:"by,omitzero"` // the dialect that answered; "" unless Ending is [Answered]
		Ending Ending       `json:"ending,omitzero"`
		Answer Answer       `json:"answer,omitzero"`
	}
)

func (b QuestionAsked) visit(v visitor) Body {
	b.Question.visit(v)
	return b
}

// visit does not mask what an answer has to name, nor the arguments of a client's tool.
func (q *Question) visit(v visitor) {
	v.time(&q.Deadline)
	v.text(&q.Title, masked|counted)
	v.text(&q.Detail, masked|counted)
	v.text(&q.Text, masked|counted)
	for _, choice := range q.Choices {
		v.hold(len(choice))
	}
	v.json(&q.Arguments, counted)
	at(v, &q.Form, (*Form).visit)
}

func (f *Form) visit(v visitor) { each(v, &f.Fields, (*Field).visit) }

func (f *Field) visit(v visitor) {
	v.hold(EntryCost + len(f.Name))
	v.text(&f.Title, masked|counted)
	v.text(&f.Detail, masked|counted)
	v.value(&f.Default)
	for _, c := range f.Choices {
		v.hold(2*textCost + len(c.Value) + len(c.Title))
	}
}

func (b QuestionClosed) visit(v visitor) Body {
	b.Answer.visit(v)
	return b
}

func (a *Answer) visit(v visitor) {
	v.text(&a.Text, masked|counted)
	v.text(&a.Reason, masked|counted)
	v.values(&a.Fields)
}
