package event

// The life of a run: everything between a prompt and the session being ready
// for the next. There is exactly one RunEnded for each RunStarted.
type (
	// RunStarted begins the run named in [Event.Run].
	RunStarted struct{}
	// RunEnded ends it. Text is the reason of a failure.
	RunEnded struct {
		Outcome Outcome `json:"outcome,omitzero"`
		Text    string  `json:"text,omitzero"`
	}
	// UserMessage is a prompt, as the user wrote it. One that steers comes in
	// the middle of its run. It is encoded as the prompt.
	UserMessage struct{ Prompt Prompt }
	// QueueChanged has all prompts that wait for their runs. One whose run begins
	// leaves them without another.
	QueueChanged struct {
		Waiting []Waiting `json:"waiting,omitzero"`
	}
	// TurnStarted and TurnEnded enclose one answer of the model; a run has
	// several when tools are called.
	TurnStarted struct {
		ID string `json:"id,omitzero"`
	}
	// TurnEnded ends the turn.
	TurnEnded struct {
		ID string `json:"id,omitzero"`
	}
	// Idle is the agent's word that it has nothing left to do. It ends the run and
	// is not recorded itself.
	Idle struct {
		Aborted bool `json:"aborted,omitzero"`
	}
)

// Waiting is a prompt that waits for its run.
type Waiting struct {
	Run  string `json:"run,omitzero"`
	Text string `json:"text,omitzero"` // its beginning in one line; "" if the conversation is to be summed up
	By   string `json:"by,omitzero"`   // the dialect that it came through, "" if that is not known
}

// Outcome of a run.
type Outcome string

// The outcomes of a run.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	// Interrupted is the outcome of a run in whose middle the portal ended.
	Interrupted Outcome = "interrupted"
)

func (b RunStarted) visit(visitor) Body { return b }

func (b RunEnded) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	return b
}

func (b UserMessage) visit(v visitor) Body {
	b.Prompt.visit(v)
	v.find(TextPrompt, b.Prompt.Text)
	return b
}

func (b QueueChanged) visit(v visitor) Body {
	for _, w := range b.Waiting {
		v.hold(EntryCost + len(w.Run) + len(w.Text))
	}
	return b
}

func (b TurnStarted) visit(visitor) Body { return b }

func (b TurnEnded) visit(visitor) Body { return b }

func (b Idle) visit(visitor) Body { return b }
