package event

// What the model says. A delta continues the text of its id; the end carries
// the whole text and can stand for its deltas. An end may come without a start.
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
	// ReasoningEnded has the whole thought.
	ReasoningEnded struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
		Cut  bool   `json:"cut,omitzero"` // it was cut off with its run: the text is all that was told
	}
	// MessageStarted precedes the first delta of an id.
	MessageStarted struct {
		ID string `json:"id,omitzero"`
	}
	// MessageDelta continues an answer.
	MessageDelta struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
	}
	// MessageEnded has the whole answer; "" when the model only called tools, or
	// says it again under another id.
	MessageEnded struct {
		ID   string `json:"id,omitzero"`
		Text string `json:"text,omitzero"`
		Cut  bool   `json:"cut,omitzero"` // it was cut off with its run: the text is all that was told
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
