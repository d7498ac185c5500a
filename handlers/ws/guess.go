package ws

import (
	"maps"
	"sync"
	"time"
)

// A client may be wrong about the token so many times at once, and once more each time this has passed.
const (
	maxGuesses = 10
	perGuess   = 6 * time.Second
	// maxGuessers is how many addresses are told apart; the others share one count.
	maxGuessers = 1000
)

// guesses limits how often the token can be tried, by address.
type guesses struct {
	mu   sync.Mutex
	over map[string]time.Time // when nothing will be left of what an address got wrong
}

// allowed tells whether an address may try again, or else when.
func (g *guesses) allowed(address string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	free := g.over[g.key(address)].Add(-(maxGuesses - 1) * perGuess)
	return time.Until(free), !free.After(time.Now())
}

// wrong notes that one was wrong.
func (g *guesses) wrong(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.over == nil {
		g.over = map[string]time.Time{}
	}
	if len(g.over) >= maxGuessers {
		maps.DeleteFunc(g.over, func(_ string, over time.Time) bool { return !over.After(now) })
	}
	key := g.key(address)
	over := g.over[key]
	if over.Before(now) {
		over = now
	}
	g.over[key] = over.Add(perGuess)
}

func (g *guesses) key(address string) string {
	if _, known := g.over[address]; known || len(g.over) < maxGuessers {
		return address
	}
	return ""
}
