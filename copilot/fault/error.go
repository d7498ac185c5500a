// Package fault defines the kinds of errors that every dialect translates into its own codes.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// Kind groups errors by what a caller can do about them. Each dialect has one table from kinds, or from the errors
// below, to its codes.
type Kind string

// The kinds of errors. An error without a kind is [Internal].
const (
	NotFound        Kind = "not found"
	Busy            Kind = "busy"
	Invalid         Kind = "invalid"
	Denied          Kind = "denied"
	Unavailable     Kind = "unavailable" // the agent is not available; the text says what to do
	Unauthenticated Kind = "unauthenticated"
	Timeout         Kind = "timeout"
	Internal        Kind = "internal"
)

// Error is an error that a user may see. Its text says what happened and, if possible, what to do.
type Error struct {
	Kind  Kind
	Text  string
	cause error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the error that this one specializes, if any.
func (e *Error) Unwrap() error { return e.cause }

// Errors that dialects report in their own way. They arrive wrapped: use [errors.Is].
var (
	ErrSessionNotFound      = &Error{Kind: NotFound, Text: "no such session"}
	ErrSessionClosed        = &Error{Kind: NotFound, Text: "the session is closed"}
	ErrSessionOpen          = &Error{Kind: Busy, Text: "the session is open"}
	ErrSessionInUse         = &Error{Kind: Busy, Text: "the session is in use"}
	ErrRunNotFound          = &Error{Kind: NotFound, Text: "no such run: it has ended or never existed"}
	ErrBusy                 = &Error{Kind: Busy, Text: "the session already has a run"}
	ErrModelNotFound        = &Error{Kind: Invalid, Text: "no such model"}
	ErrDirectoryNotAbsolute = &Error{Kind: Invalid, Text: "the working directory must be an absolute path"}
	ErrDirectoryNotFound    = &Error{Kind: Invalid, Text: "the working directory does not exist or is not a directory"}
	ErrQuestionNotFound     = &Error{Kind: NotFound, Text: "no such question"}
	ErrRuleNotFound         = &Error{Kind: NotFound, Text: "no such rule is remembered"}
	ErrAlreadyAnswered      = &Error{Kind: Invalid, Text: "the question was already answered"}
	ErrEmptyPrompt          = &Error{Kind: Invalid, Text: "the prompt is empty"}
	ErrIdle                 = &Error{Kind: Busy, Text: "the agent is idle: there is no run to steer"}
	ErrNothingToCompact     = &Error{Kind: Invalid, Text: "there is nothing to compact yet"}
	ErrCopyLeft             = &Error{Kind: Unavailable, Text: "the session is deleted, but the agent's own copy is not"}
	ErrStopping             = &Error{Kind: Unavailable, Text: "the portal is stopping"}
)

// Errorf returns an [Error] of a kind. It wraps errors given for %w.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Text: err.Error(), cause: err}
}

// KindOf returns the kind of any error.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Internal
}

// Public returns what clients may see of an error: the fault in it, or that the agent did not answer in time. It returns nil for errors
// that only the log may show.
func Public(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Kind != Internal:
		return e
	case e == nil && errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Timeout, Text: "the agent did not answer in time; try again"}
	}
	return nil
}
