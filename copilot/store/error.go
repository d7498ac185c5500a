package store

import (
	"errors"
	"fmt"
)

// The errors of this package, besides [Failure] and [InUseError].
var (
	ErrNotFound = errors.New("nothing of this id is stored")
	ErrExists   = errors.New("something of this id is stored already")
	ErrClosed   = errors.New("the store is closed")
	ErrReleased = errors.New("the session was given back")
	ErrLost     = errors.New("another process has taken it, or it was deleted or ended")
	ErrBacklog  = errors.New("the store is behind: too much waits to be written")
	ErrOrder    = errors.New("the number of an entry must be larger than the one before, and below 2^63")
	ErrTooLarge = fmt.Errorf("an entry of more than %d MiB cannot be stored", MaxEntry>>20)
)

// InUseError says that another process, or another part of this one, holds the session.
type InUseError struct {
	Session string
	PID     int
}

// Error names the process.
func (e *InUseError) Error() string {
	return fmt.Sprintf("session %s is in use by process %d", e.Session, e.PID)
}
