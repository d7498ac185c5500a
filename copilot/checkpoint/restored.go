package checkpoint

import (
	"time"
)

// Kind says how files were brought back.
type Kind string

// The kinds.
const (
	Revert  Kind = "revert"  // changes were taken back, and later ones kept
	Restore Kind = "restore" // files became what they were
	Undo    Kind = "undo"    // one of these was taken back
)

// Action describes a request to bring files back.
type Action struct {
	Session string `json:"session"`
	Kind    Kind   `json:"kind"`
	Run     string `json:"run,omitempty"`    // the run whose changes are taken back, or to whose start files return
	By      string `json:"by,omitempty"`     // the dialect of the client
	Undoes  string `json:"undoes,omitempty"` // id of the [Restored] that an undo takes back
}

// Restored describes files that were brought back. It can be undone.
type Restored struct {
	Action

	ID    string    `json:"id"` // "" if there was nothing to do
	Time  time.Time `json:"time"`
	Files []File    `json:"files"`          // at most 1,000
	Count int       `json:"count"`          // all of them
	Left  []string  `json:"left,omitempty"` // files that could not be changed because they changed meanwhile
}

// File is a file that was brought back.
type File struct {
	Path    string `json:"path"`
	Deleted bool   `json:"deleted,omitempty"`
}

// Status says what was done with the file: "written" or "deleted".
func (f File) Status() string {
	if f.Deleted {
		return "deleted"
	}
	return "written"
}

// maxFiles is the maximum number of files that a [Restored] names.
const maxFiles = 1000
