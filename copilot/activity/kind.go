// Package activity is one durable log for everything that is not a session: jobs, tasks, operations, interfaces. An activity has a
// head, which says what is known of it as a whole, and numbered entries. Each has one owner, the process that writes it; other
// processes on the same store read it, and adopt it when its owner is gone. What has ended is kept for a while and then dropped.
package activity

import (
	"context"
	"errors"
	"time"
)

// Kind describes one kind of activity: H is its head, E an entry. All functions may be called concurrently.
type Kind[H, E any] struct {
	Name  string // in the store and in errors, as in "job"
	Entry string // what an entry is called in errors, as in "event"
	Lead  uint64 // how many lines of the store precede the first entry

	// ID is the field of a head that identifies its activity. Created, Ended and Count read a head: Ended is zero while the activity
	// goes on, Count is the number of the newest entry that the head has taken.
	ID      func(*H) *string
	Created func(H) time.Time
	Ended   func(H) time.Time
	Count   func(H) uint64

	// Number makes an entry the next one behind those that a head has taken, and Apply takes it into the head. Apply must not change
	// what the given head refers to: readers share it. Both are nil for kinds that are written by [Log.Replace] alone.
	Number func(h H, e E, at time.Time) E
	Apply  func(h H, e E) H

	Encode func(E) ([]byte, error)
	Decode func(number uint64, line []byte) (E, error)

	// Unreadable is the head of an adopted activity whose own head cannot be read. Abandon says how an activity ends whose owner is
	// gone, and Abandoned is called when that is stored. All three are nil for kinds that never end by themselves.
	Unreadable func(id string, created time.Time, count uint64) H
	Abandon    func(context.Context, H) (End[H, E], error)
	Abandoned  func(context.Context, H)

	NotFound error // for an activity that does not exist
}

// End is how an activity ends: its last entries, and what else changes in its head.
type End[H, E any] struct {
	Entries []E
	Change  func(*H)
}

// Why work ends before it is done: causes of the context of [Log.Go].
var (
	ErrCanceled = errors.New("it was canceled")
	ErrStopping = errors.New("the portal was stopped")
)

// ErrEnded is returned when something is written to an activity, or canceled in it, that has ended.
var ErrEnded = errors.New("the activity has ended")
