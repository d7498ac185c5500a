package fault

import (
	"errors"
	"slices"
)

// Wire is an error in JSON, for another process.
type Wire struct {
	Kind Kind     `json:"kind"`
	Text string   `json:"text"`
	Is   []string `json:"is,omitempty"` // texts of the errors of this package that it wraps
}

// distinct returns the errors that dialects tell apart.
func distinct() []*Error {
	return []*Error{
		ErrSessionNotFound, ErrSessionClosed, ErrSessionOpen, ErrSessionInUse, ErrRunNotFound, ErrBusy, ErrModelNotFound,
		ErrDirectoryNotAbsolute, ErrDirectoryNotFound, ErrQuestionNotFound, ErrRuleNotFound, ErrAlreadyAnswered, ErrEmptyPrompt,
		ErrIdle, ErrNothingToCompact, ErrCopyLeft, ErrStopping,
	}
}

// ToWire encodes an error.
func ToWire(err error) Wire {
	w := Wire{Kind: KindOf(err), Text: err.Error()}
	for _, e := range distinct() {
		if errors.Is(err, e) {
			w.Is = append(w.Is, e.Text)
		}
	}
	return w
}

// Err decodes the error: kind, text and the errors of this package that it wraps are the same.
func (w Wire) Err() error {
	var causes []error
	for _, e := range distinct() {
		if slices.Contains(w.Is, e.Text) {
			causes = append(causes, e)
		}
	}
	return &Error{Kind: w.Kind, Text: w.Text, cause: errors.Join(causes...)}
}
