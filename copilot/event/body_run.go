package event

// The life of a run, from a prompt until the session is ready for the next one. Each RunStarted has exactly one
// RunEnded.
type (
	// RunStarted begins the run named in [Event.Run].
	RunStarted struct{}
	// RunEnded ends the run. Text is the reason of a failure, or says that the prompt of a completed run was sent into an earlier one.
	RunEnded struct {
		Outcome Outcome `json:"outcome,omitzero"`
		Text    string  `json:"text,omitzero"`
	}
	// UserMessage is a prompt as the user wrote it. A steering prompt comes in the middle of its run. It is encoded as
	// the prompt.
	UserMessage struct{ Prompt Prompt }
	// QueueChanged lists all queued prompts. A prompt whose run starts leaves the queue without this event.
	QueueChanged struct {
		Waiting []Waiting `json:"waiting,omitzero"`
	}
	// TurnStarted and TurnEnded enclose one answer of the model. A run has several when tools are called.
	TurnStarted struct {
		ID string `json:"id,omitzero"`
	}
	// TurnEnded ends the turn.
	TurnEnded struct {
		ID string `json:"id,omitzero"`
	}
	// Idle reports that the agent has nothing left to do. It ends the run and is not recorded itself.
	Idle struct {
		Aborted bool `json:"aborted,omitzero"`
	}
)

// Waiting is a queued prompt.
type Waiting struct {
	Run  string `json:"run,omitzero"`
	Text string `json:"text,omitzero"` // first part of the text on one line; "" for a compaction
	By   string `json:"by,omitzero"`   // dialect that it came through, or "" if unknown
}

// Outcome of a run.
type Outcome string

// The outcomes of a run.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	// Interrupted is the outcome of a run during which the portal ended.
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
