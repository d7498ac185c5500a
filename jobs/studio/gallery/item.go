package gallery

import (
	"context"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Item is a snapshot of an interface.
type Item struct {
	ID        string    `json:"-"`
	Title     string    `json:"title"`
	Format    string    `json:"format"`     // of the description
	Endpoints int       `json:"operations"` // how many the description has
	BaseURL   string    `json:"baseURL"`    // of the description; "" without an absolute one
	Allowed   string    `json:"allowed"`    // the base URL that it may call; "" for none
	Private   bool      `json:"private"`    // the user knows that Allowed leads to this machine or its network
	Created   time.Time `json:"created"`
	Versions  []Version `json:"versions"` // oldest first
	Current   int       `json:"current"`  // number of the version shown; 0 for none
	Question  *Question `json:"question,omitempty"`
	Error     string    `json:"error,omitempty"`   // why the last request failed, or ""
	Request   string    `json:"request,omitempty"` // the prompt of the last request until it has a result, also if it failed
	Revision  int       `json:"revision"`          // how often it was stored

	Work   *Work  `json:"-"` // the current request; nil for none
	Events uint64 `json:"-"` // the number of the newest event
}

// Version is a state of the code of an interface.
type Version struct {
	Number      int       `json:"number"` // 1, 2, 3 … without gaps
	Description string    `json:"description"`
	Prompt      string    `json:"prompt"` // the requested change; "" for the first
	Assumptions []string  `json:"assumptions,omitempty"`
	Components  int       `json:"components"`
	Bytes       int       `json:"bytes"`
	Based       int       `json:"based"` // number of the changed version; 0 for none
	Created     time.Time `json:"created"`
}

// Question must be answered, by another request, before the interface can change.
type Question struct {
	Prompt  string   `json:"prompt"` // the requested change
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

// Work is a request in progress.
type Work struct {
	Prompt string // "" for [Host.Make]
	Since  time.Time
	After  uint64 // number of the event before its first
}

// version returns a version; 0 is the current one.
func (i Item) version(number int) (Version, bool) {
	if number == 0 {
		number = i.Current
	}
	at := slices.IndexFunc(i.Versions, func(v Version) bool { return v.Number == number })
	if at < 0 {
		return Version{}, false
	}
	return i.Versions[at], true
}

// ancestors returns the versions that led to the current one, oldest first, ending with the current one.
func (i Item) ancestors() (list []Version) {
	for v, ok := i.version(0); ok; v, ok = i.version(v.Based) {
		list = append(list, v)
		if v.Based == 0 {
			break
		}
	}
	slices.Reverse(list)
	return list
}

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Began   Kind = "began"   // a request started
	Piece   Kind = "piece"   // a piece of code, as it arrives; the code may still be repaired
	Ended   Kind = "ended"   // the request ended with a version, a question or an error
	Changed Kind = "changed" // another change: of the current version or of what is allowed, or any by another process
	Deleted Kind = "deleted" // the last event
)

// Event is something that happened to an interface. Readers share it.
type Event struct {
	Number uint64
	Time   time.Time
	Kind   Kind
	Text   string // of a piece; of an end, why the result could not be stored
}

// maxItems is the maximum number of listed interfaces.
const maxItems = 1000

var errNotFound = fault.Errorf(fault.NotFound, "no such interface: it was deleted, or belongs to another portal")

// kind describes interfaces to their log: the lead is the description, entry n the code of version n.
func kind() activity.Kind[Item, []byte] {
	return activity.Kind[Item, []byte]{
		Name: "interface", Entry: "version", Lead: 1,
		ID: func(i *Item) *string { return &i.ID }, Created: func(i Item) time.Time { return i.Created },
		Ended: func(Item) time.Time { return time.Time{} }, Count: func(i Item) uint64 { return uint64(len(i.Versions)) },
		Encode:   func(code []byte) ([]byte, error) { return code, nil },
		Decode:   func(_ uint64, code []byte) ([]byte, error) { return code, nil },
		NotFound: errNotFound,
	}
}

// description reads the description of an interface.
func (h *Host) description(ctx context.Context, id string) ([]byte, error) {
	return first(h.log.Lines(ctx, id, 0, 1))
}

// source reads the code of a version.
func (h *Host) source(ctx context.Context, id string, version int) ([]byte, error) {
	return first(h.log.Entries(ctx, id, uint64(version-1), 1)) //nolint:gosec // at least 1
}

func first(list [][]byte, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errNotFound
	}
	return list[0], nil
}
