package book

import (
	"encoding/json"
	"iter"
	"slices"
)

// Kind says how a work runs the works in it.
type Kind string

// The kinds of works.
const (
	Ref  Kind = "Ref"  // runs a task
	Seq  Kind = "Seq"  // runs its works in sequence until one fails
	Par  Kind = "Par"  // runs its works in parallel and waits for all
	Loop Kind = "Loop" // repeats its body
	Alt  Kind = "Alt"  // runs one of two works
)

// DefaultIterations is the default maximum number of rounds of a loop.
const DefaultIterations = 10

// Work is a node of a job. Its kind determines which fields are set. A work used as a condition holds if it
// succeeds.
type Work struct {
	Kind Kind
	// ID is the number of the work in the job. The root is 1, and each work precedes the works in it: Seq and
	// Par in their order; Loop: pre, post, body; Alt: condition, true, false.
	ID int

	// Task and ModelOverride belong to a Ref.
	Task          string
	ModelOverride ModelRef

	// Works belong to a Seq or Par. There is at least one. A Seq in a Seq and a Par in a Par are flattened.
	Works []*Work

	// Pre runs before each round of a Loop, Post after each round; the loop continues while they have the
	// wanted result. Each may be nil.
	Pre, Post             *Work
	PreWanted, PostWanted bool
	Body                  *Work
	MaxIterations         int

	// Condition decides which work of an Alt runs. One of True and False may be nil.
	Condition, True, False *Work
}

// Parts returns the direct children of the work, in the order of their ids.
func (w *Work) Parts() []*Work {
	parts := append([]*Work{w.Pre, w.Post, w.Body, w.Condition, w.True, w.False}, w.Works...)
	return slices.DeleteFunc(parts, func(part *Work) bool { return part == nil })
}

// All yields the work and all its descendants, in the order of their ids.
func (w *Work) All() iter.Seq[*Work] {
	return func(yield func(*Work) bool) { w.each(yield) }
}

func (w *Work) each(yield func(*Work) bool) bool {
	if !yield(w) {
		return false
	}
	for _, part := range w.Parts() {
		if !part.each(yield) {
			return false
		}
	}
	return true
}

// MarshalJSON encodes a work in the format of books, with its id as workIdInJob.
func (w *Work) MarshalJSON() ([]byte, error) {
	pair := func(wanted bool, condition *Work) []any {
		if condition == nil {
			return nil
		}
		return []any{wanted, condition}
	}
	return json.Marshal(struct {
		Body          *Work    `json:"body,omitempty"`
		Condition     *Work    `json:"condition,omitempty"`
		False         *Work    `json:"falseWork,omitempty"`
		Kind          Kind     `json:"kind"`
		MaxIterations int      `json:"maxIterations,omitempty"`
		ModelOverride ModelRef `json:"modelOverride,omitzero"`
		Post          []any    `json:"postCondition,omitempty"`
		Pre           []any    `json:"preCondition,omitempty"`
		Task          string   `json:"taskId,omitempty"`
		True          *Work    `json:"trueWork,omitempty"`
		ID            int      `json:"workIdInJob"`
		Works         []*Work  `json:"works,omitempty"`
	}{
		w.Body, w.Condition, w.False, w.Kind, w.MaxIterations, w.ModelOverride, pair(w.PostWanted, w.Post), pair(w.PreWanted, w.Pre),
		w.Task, w.True, w.ID, w.Works,
	})
}
