// Package cluster joins the stores of several portals through a log. The log orders the changes of all sessions and activities;
// each node applies all of them to its own store, where lists, searches and readers find them. One node holds a session at a
// time. It appends its changes with the sequence of the one before, so that the log refuses those of a node that another one
// has replaced (spec/architecture.md, "Cluster").
package cluster

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Log is an ordered, replicated sequence of messages, with the members that use it. Its methods may be called concurrently.
// Errors other than those named are failures to reach it, after which a message may be stored or not.
type Log interface {
	// Append appends a message about a subject whose newest message has the expected sequence (0: there is none; [Any]: it does
	// not matter), and returns its sequence. Repeating it with the same id has no effect. It fails with [ErrConflict] if another message is the newest.
	Append(ctx context.Context, subject string, expect uint64, id string, data []byte) (sequence uint64, err error)

	// Last returns the sequence of the newest message of all, at least that of each Append that has returned; 0: there is none.
	Last(ctx context.Context) (uint64, error)

	// Read calls handle with the messages after a sequence, in order, as they come, until ctx ends or handle fails. A message may come before
	// its Append returns, and before Last counts it.
	Read(ctx context.Context, after uint64, handle func([]Message) error) error

	// Purge removes the messages about a subject before a sequence.
	Purge(ctx context.Context, subject string, before uint64) error

	// Announce tells the others that a member is alive, and what it wants to say about itself. An empty state: it leaves.
	Announce(ctx context.Context, member string, state []byte) error

	// Watch calls heard with each announcement of all members, first the newest of each, until ctx ends or it fails.
	Watch(ctx context.Context, heard func(member string, state []byte)) error

	// Put stores a large object; the same name always has the same content. Get returns it, or fails with fs.ErrNotExist or [ErrDamaged].
	// Objects lists all, and Delete deletes one.
	Put(ctx context.Context, name string, data []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
	Objects(ctx context.Context) ([]Object, error)
	Delete(ctx context.Context, name string) error

	// Request sends a request to a member and returns its answer. The member may get it several times. It fails with
	// [ErrNobody] if the member did not get it.
	Request(ctx context.Context, member, id string, data []byte) ([]byte, error)

	// Serve answers the requests to a member, each on its own goroutine, until ctx ends; the context of an answer ends with it,
	// or when the caller gives up.
	Serve(ctx context.Context, member string, answer func(ctx context.Context, data []byte) []byte) error
}

// Message is a message of the log.
type Message struct {
	Sequence uint64
	Data     []byte
}

// Any is an expected sequence that fits every subject.
const Any = ^uint64(0)

// Errors of a [Log].
var (
	ErrConflict = errors.New("another message about the subject is newer")
	ErrNobody   = errors.New("the member is not there")
	ErrDamaged  = fault.Errorf(fault.Invalid, "the object is damaged")
)
