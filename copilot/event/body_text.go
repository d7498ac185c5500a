package event

// The output of the model. A delta continues the text of its id. The end holds the whole text and can stand for its
// deltas. An end may come without a start.
type (
	// ReasoningStarted precedes the first delta of an id.
	ReasoningStarted struct {
		ID string `json:"id,omitzero"`
	}
	// ReasoningDelta continues a thought.
	ReasoningDelta struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
	}
	// ReasoningEnded holds the whole thought.
	ReasoningEnded struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
		Cut  bool   `json:"cut,omitzero"` // interrupted with its run: the text is incomplete
	}
	// MessageStarted precedes the first delta of an id.
	MessageStarted struct {
		ID string `json:"id,omitzero"`
	}
	// MessageDelta continues a message.
	MessageDelta struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
	}
	// MessageEnded holds the whole message. It is "" if the model only called tools, or repeats the message under
	// another id.
	MessageEnded struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
		Cut  bool   `json:"cut,omitzero"` // interrupted with its run: the text is incomplete
	}
)

func (b ReasoningStarted) visit(visitor) Body { return b }

func (b ReasoningDelta) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	return b
}

func (b ReasoningEnded) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	return b
}

func (b MessageStarted) visit(visitor) Body { return b }

func (b MessageDelta) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	return b
}

func (b MessageEnded) visit(v visitor) Body {
	v.text(&b.Text, masked|counted)
	v.find(TextAnswer, b.Text)
	return b
}
