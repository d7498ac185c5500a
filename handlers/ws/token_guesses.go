package ws

import (
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// An address may send maxGuesses wrong tokens at once, and another one after each guessInterval.
const (
	maxGuesses    = 10
	guessInterval = 6 * time.Second
	// maxGuessAddresses is how many addresses are counted separately; the others share one count.
	maxGuessAddresses = 1000
)

// TokenGuesses limits, by address, how many wrong tokens the portal answers as such. The right token is
// always accepted: clients share addresses, so one could otherwise lock out another. The zero value
// is ready for use; methods may be called concurrently.
type TokenGuesses struct {
	mu   sync.Mutex
	over map[string]time.Time // when all wrong tokens of an address are forgiven
}

// Failed counts a wrong token. If its address sent too many, wait is the time until the next is answered; otherwise it is zero.
func (g *TokenGuesses) Failed(r *http.Request) (wait time.Duration) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr) // "" counts as an address, too
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
	if free := over.Add(-(maxGuesses - 1) * guessInterval); free.After(now) {
		return free.Sub(now)
	}
	g.over[key] = over.Add(guessInterval)
	return 0
}

func (g *TokenGuesses) key(address string) string {
	if _, known := g.over[address]; known || len(g.over) < maxGuessAddresses {
		return address
	}
	return ""
}

// guessError answers a wrong token after too many.
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
