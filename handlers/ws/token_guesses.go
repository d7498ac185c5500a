package ws

import (
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// A client may be wrong about the token so many times at once, and once more each time this has passed.
const (
	maxGuesses = 10
	perGuess   = 6 * time.Second
	// maxGuessAddresses is how many addresses are told apart; the others share one count.
	maxGuessAddresses = 1000
)

// TokenGuesses limits how often a wrong token is answered as one, by address. The right token is
// taken at any time: an address is shared, so others could lock its owner out. The zero value
// is ready for use; methods may be called concurrently.
type TokenGuesses struct {
	mu   sync.Mutex
	over map[string]time.Time // when nothing will be left of what an address got wrong
}

// Failed counts a wrong token that a request brings. If there were too many from its address,
// wait is how long until one is answered again; else it is zero.
func (g *TokenGuesses) Failed(r *http.Request) (wait time.Duration) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr) // "" is an address like any other
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.over == nil {
		g.over = map[string]time.Time{}
	}
	if len(g.over) >= maxGuessAddresses {
		maps.DeleteFunc(g.over, func(_ string, over time.Time) bool { return !over.After(now) })
	}
	key := g.key(address)
	over := g.over[key]
	if over.Before(now) {
		over = now
	}
	if free := over.Add(-(maxGuesses - 1) * perGuess); free.After(now) {
		return free.Sub(now)
	}
	g.over[key] = over.Add(perGuess)
	return 0
}

func (g *TokenGuesses) key(address string) string {
	if _, known := g.over[address]; known || len(g.over) < maxGuessAddresses {
		return address
	}
	return ""
}

// guessError is what a wrong token is answered with when there were too many.
type guessError struct{ wait time.Duration }

func (guessError) Error() string {
	return "too many wrong tokens from this address; the right token is still accepted"
}
func (guessError) Unwrap() error { return errTooMany }

// guessed counts a wrong token. Errors: [errUnauthorized]; guessError.
func (a *API) guessed(r *http.Request) error {
	if wait := a.options.Guesses.Failed(r); wait > 0 {
		return guessError{wait}
	}
	return errUnauthorized
}
