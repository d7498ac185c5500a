// Package activity is the durable log of everything that is not a session: jobs, tasks, operations,
// interfaces. An activity has a head, a summary of the activity, and numbered entries. One process, its
// owner, writes it; other processes on the same store read it, and adopt it when its owner is gone. An
// activity is kept for some time after its end and then removed.
package activity

import (
	"context"
	"errors"
	"time"
)

// Kind describes one kind of activity. H is the type of its head, E that of its entries. All functions must
// be safe for concurrent use.
type Kind[H, E any] struct {
	Name  string // name in the store and in errors, such as "job"
	Entry string // name of an entry in errors, such as "event"
	Lead  uint64 // number of lines in the store that precede the first entry

	// ID returns the field of a head that identifies its activity. Created, Ended and Count read a head:
	// Ended is zero while the activity runs, Count is the number of the newest entry that was applied to the
	// head.
	ID      func(*H) *string
	Created func(H) time.Time
	Ended   func(H) time.Time
	Count   func(H) uint64

	// Number numbers an entry after those applied to a head, and Apply applies it to the head. Apply must not
	// modify what the given head refers to, because readers share it. Both are nil for kinds that only
	// [Log.Replace] writes.
	Number func(h H, e E, at time.Time) E
	Apply  func(h H, e E) H

	Encode func(E) ([]byte, error)
	Decode func(number uint64, line []byte) (E, error)

	// Unreadable returns the head of an adopted activity whose own head cannot be read. Abandon returns the
	// end of an activity whose owner is gone, and Abandoned is called when that is stored. All three are nil
	// for kinds that never end by themselves.
	Unreadable func(id string, created time.Time, count uint64) H
	Abandon    func(context.Context, H) (End[H, E], error)
	Abandoned  func(context.Context, H)

	NotFound error // error for an activity that does not exist
}

// End is the end of an activity: its last entries and the change of its head.
type End[H, E any] struct {
	Entries []E
	Change  func(*H)
}

// The causes of the context of [Log.Go] when work ends early.
var (
	ErrCanceled = errors.New("the work was canceled")
	ErrStopping = errors.New("the portal was stopped")
)

// ErrEnded is returned by writes to an activity that has ended, and by cancelling it.
var ErrEnded = errors.New("the activity has ended")
