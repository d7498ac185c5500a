package portaltest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// Given is a response and the time when the reader received it.
type Given struct {
	Response
	At testclock.Clock
}

// Reader reads a session with live/{token} until the portal ends or the session is closed.
type Reader struct {
	t    testing.TB
	done chan struct{}

	mu    sync.Mutex
	given []Given
	last  string // the last answer
}

// Follow starts to read a session.
func (p *Portal) Follow(id, token string) *Reader {
	r := &Reader{t: p.t, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			_, answer, err := p.Try("GET", "/api/copilot/session/"+id+"/live/"+token, "")
			if err != nil || !r.take(answer) {
				return
			}
		}
	}()
	return r
}

// take records the answer to one call and reports whether more may follow.
func (r *Reader) take(answer string) bool {
	now := testclock.Now()
	var batch struct {
		Responses []Response
		Error     string
	}
	err := json.Unmarshal([]byte(answer), &batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range batch.Responses {
		r.given = append(r.given, Given{one, now})
	}
	r.last = answer
	return err == nil && (batch.Error == "" || batch.Error == "HttpRequestTimeout")
}

// Given returns the responses received so far.
func (r *Reader) Given() []Given {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.given)
}

// Responses returns the responses received so far, without their times.
func (r *Reader) Responses() []Response {
	var list []Response
	for _, g := range r.Given() {
		list = append(list, g.Response)
	}
	return list
}

// Wait waits for at most two minutes until wanted accepts the responses, and returns them. It calls wanted only
// when there are new ones, because checking a long list takes a while.
func (r *Reader) Wait(what string, wanted func([]Response) bool) []Response {
	r.t.Helper()
	seen := -1
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if n := r.len(); n > seen {
			if list := r.Responses(); wanted(list) {
				return list
			}
			seen = n
		}
		select {
		case <-r.done:
			if list := r.Responses(); wanted(list) {
				return list
			}
			r.t.Fatalf("%s did not arrive before the end, which was %q: %v", what, r.last, r.tail())
		case <-time.After(10 * time.Millisecond):
		}
	}
	r.t.Fatalf("%s did not arrive, but %v", what, r.tail())
	return nil
}

func (r *Reader) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.given)
}

// tail returns the last responses, for messages.
func (r *Reader) tail() []Response {
	list := r.Responses()
	return list[max(0, len(list)-20):]
}

// Done is closed when the reader has ended.
func (r *Reader) Done() <-chan struct{} { return r.done }
