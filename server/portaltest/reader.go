package portaltest

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"
)

// Given is a response and the time when a reader had it.
type Given struct {
	Response
	At Clock
}

// Reader reads a session by live/{token} until the portal ends, however it does,
// or the session is closed.
type Reader struct {
	t    testing.TB
	done chan struct{}

	mu    sync.Mutex
	given []Given
	last  string // answer, if it was no responses
}

// Follow begins to read a session.
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

// take notes what one call was answered with, and says whether there will be more.
func (r *Reader) take(answer string) bool {
	now := Now()
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

// Given is what the reader has been given so far.
func (r *Reader) Given() []Given {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.given)
}

// Responses is the same without the times.
func (r *Reader) Responses() []Response {
	var list []Response
	for _, g := range r.Given() {
		list = append(list, g.Response)
	}
	return list
}

// Wait waits until what was given is as wanted, for at most two minutes, and gives it.
// To look at a long list takes a while, so it is looked at only when it has grown.
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
			r.t.Fatalf("%s did not come before the end, which was %q: %v", what, r.last, r.tail())
		case <-time.After(10 * time.Millisecond):
		}
	}
	r.t.Fatalf("%s did not come but %v", what, r.tail())
	return nil
}

func (r *Reader) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.given)
}

// tail is the end of what was given, for messages.
func (r *Reader) tail() []Response {
	list := r.Responses()
	return list[max(0, len(list)-20):]
}

// Done is closed when the reader has ended.
func (r *Reader) Done() <-chan struct{} { return r.done }
