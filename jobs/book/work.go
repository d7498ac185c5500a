package book

import "iter"

// Kind is what a work does with the works in it.
type Kind string

// The kinds of works.
const (
	Ref  Kind = "Ref"  // does a task
	Seq  Kind = "Seq"  // does its works one after another, to the first that fails
	Par  Kind = "Par"  // does its works at the same time, and waits for all
	Loop Kind = "Loop" // does its body again and again
	Alt  Kind = "Alt"  // does one of two works
)

// DefaultIterations is how often a loop that does not say goes round at most.
const DefaultIterations = 10

// Work is a node of a job. Which fields it has depends on its kind. A work that stands as a condition holds when it
// succeeds.
type Work struct {
	Kind Kind
	// ID is its number in the job. All works have one, the root is 1, and each comes before the works in it: Seq and Par in
	// their order; Loop: pre, post, body; Alt: condition, true, false.
	ID int

	// Task and ModelOverride are those of a Ref.
	Task          string
	ModelOverride ModelRef

	// Works are those of a Seq or Par: at least one; a Seq in a Seq and a Par in a Par are flattened.
	Works []*Work

	// Pre is asked before each round of a Loop, Post after each: it goes on while the answer is as wanted. Each may be nil.
	Pre, Post             *Work
	PreWanted, PostWanted bool
	Body                  *Work
	MaxIterations         int

	// Condition decides which work of an Alt is done. One of True and False may be nil.
	Condition, True, False *Work
}

// Parts are the works right under this one, in the order of their ids.
func (w *Work) Parts() []*Work {
	var parts []*Work
	for _, part := range append([]*Work{w.Pre, w.Post, w.Body, w.Condition, w.True, w.False}, w.Works...) {
		if part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// All tells the work itself and all works under it, in the order of their ids.
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
