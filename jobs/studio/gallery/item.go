package gallery

import (
	"slices"
	"time"
)

// Item is an interface as it was at a time.
type Item struct {
	ID        string    `json:"-"`
	Title     string    `json:"title"`
	Format    string    `json:"format"`     // of the description
	Endpoints int       `json:"operations"` // how many operations the description has
	BaseURL   string    `json:"baseURL"`    // that the description names; "" if it names none that is absolute
	Allowed   string    `json:"allowed"`    // the base URL that the user lets it call; "": none
	Private   bool      `json:"private"`    // the user knows that this leads to this machine or its network
	Created   time.Time `json:"created"`
	Versions  []Version `json:"versions"` // the oldest first
	Current   int       `json:"current"`  // the number of the version that is shown; 0: there is none
	Question  *Question `json:"question,omitempty"`
	Error     string    `json:"error,omitempty"` // why the last request came to nothing; "" if it did not

	Work   *Work  `json:"-"` // what goes on; nil: nothing
	Events uint64 `json:"-"` // the number of the newest event
}

// Version is a state of the code of an interface.
type Version struct {
	Number      int       `json:"number"` // 1, 2, 3 … without holes
	Description string    `json:"description"`
	Prompt      string    `json:"prompt"` // what was asked for; "" for the first
	Assumptions []string  `json:"assumptions,omitempty"`
	Components  int       `json:"components"`
	Bytes       int       `json:"bytes"`
	Based       int       `json:"based"` // the number of the version that was changed; 0 for one that was made anew
	Created     time.Time `json:"created"`
}

// Question is what has to be answered before a request can be met: by another request.
type Question struct {
	Prompt  string   `json:"prompt"` // what was asked for
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

// Work is a request that goes on.
type Work struct {
	Prompt string // "": the interface is being made
	Since  time.Time
	After  uint64 // the number of the event before its first
}

// version finds a version; 0 is the current one.
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

// ancestors is that of the current version's ancestors in the order in which they were made, itself at the end.
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

// Kind is what an event says.
type Kind string

// The kinds of events.
const (
	Began   Kind = "began"   // a request
	Piece   Kind = "piece"   // of the code, as it comes; what they make up may still be mended
	Ended   Kind = "ended"   // the request: there is a version, a question or an error
	Changed Kind = "changed" // something else: the current version, what is allowed
	Deleted Kind = "deleted" // nothing follows
)

// Event is something that happened to an interface in this process. Readers share it.
type Event struct {
	Number uint64
	Time   time.Time
	Kind   Kind
	Text   string // of a piece; of an end, why what was made could not be stored
}
