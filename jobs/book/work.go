package book

import "iter"

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
	var parts []*Work
	for _, part := range append([]*Work{w.Pre, w.Post, w.Body, w.Condition, w.True, w.False}, w.Works...) {
		if part != nil {
			parts = append(parts, part)
		}
	}
	return parts
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
