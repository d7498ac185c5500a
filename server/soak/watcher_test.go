package soak_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// dialect is one kind of client.
type dialect struct {
	name    string
	repeats bool // after a restart, the portal may repeat up to a second (spec/rest.md)
	read    func(ctx context.Context, w *watcher) error
	answer  func(ctx context.Context, w *watcher, question string)                     // nil: within read
	open    func(ctx context.Context, h *host, dir string) (session string, err error) // nil: it only watches
	prompt  func(ctx context.Context, h *host, session, text string) error
	fact    func(e recorded) string // what it reports of an event that is not text; "" for nothing
}

// dialects has a row for each kind of client.
func dialects() []dialect {
	return []dialect{
		{"REST, `live/{token}`", true, readLive("/soak"), answerREST, openREST, promptREST, factREST},
		{"REST, `live`", true, readLive(""), answerREST, nil, nil, factLive},
		{"`/stream`", false, readStream, answerRPC, openRPC, promptRPC, factRPC},
		{"`/rpc`, WebSocket", false, readSocket, answerRPC, openRPC, promptSocket, factRPC},
		{"`/ui`", false, readUI(dialUI), nil, openUI(dialUI), promptUI(dialUI), factUI},
		{"`portal stdio --attach`", false, readUI(startBridge), nil, openUI(startBridge), promptUI(startBridge), factUI},
	}
}

// watcher is a client that reads a session from its beginning. It reconnects after each loss, with its position.
type watcher struct {
	dialect

	host       *host
	session    string
	position   string          // in the form of the dialect
	open       map[string]bool // questions without an end so far; answered again on each connection
	reconnects int
	unsaved    int // notices that a killed portal had not stored its last events

	mu       sync.Mutex
	facts    [][]piece[string]          // by connection
	texts    map[string][][]piece[byte] // by block and connection
	complete map[string]string          // the complete text of a block, if it has arrived
	all      []string                   // the facts, in order
	changed  chan struct{}              // closed when a fact arrives
}

// piece is what arrived at once.
type piece[T any] struct {
	units []T
	at    testclock.Clock
}

func newWatcher(h *host, d dialect, session string) *watcher {
	return &watcher{dialect: d, host: h, session: session, open: map[string]bool{}, texts: map[string][][]piece[byte]{}, complete: map[string]string{}, changed: make(chan struct{})}
}

// run reads until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for ; ; w.reconnects++ {
		w.connect()
		for id := range maps.Clone(w.open) {
			w.answer(ctx, w, id)
		}
		_ = w.read(ctx, w) // every error is a lost connection
		if !wait(ctx, 250*time.Millisecond) {
			return
		}
	}
}

// wait returns false if ctx ends meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// startPiece begins anew within a connection: the portal has lost what the client got last, and continues before it.
func (w *watcher) startPiece() {
	w.unsaved++
	w.connect()
}

// connect begins with the pieces of a new connection.
func (w *watcher) connect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = append(w.facts, nil)
}

// learn keeps a fact.
func (w *watcher) learn(fact string) {
	if fact == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.facts) - 1
	w.facts[last] = append(w.facts[last], piece[string]{[]string{fact}, testclock.Now()})
	w.all = append(w.all, fact)
	close(w.changed)
	w.changed = make(chan struct{})
}

// hear keeps a part of a text.
func (w *watcher) hear(block, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.texts[block]
	for len(list) < len(w.facts) {
		list = append(list, nil)
	}
	last := len(list) - 1
	list[last] = append(list[last], piece[byte]{[]byte(normal(block, text)), testclock.Now()})
	w.texts[block] = list
}

// normal removes spaces from thoughts: the Copilot CLI trims complete ones.
func normal(block, text string) string {
	if strings.HasPrefix(block, "reasoning") {
		return strings.Join(strings.Fields(text), "")
	}
	return text
}

// hearWhole keeps a complete text of which no part has arrived.
func (w *watcher) hearWhole(block, text string) {
	w.mu.Lock()
	_, known := w.texts[block]
	w.complete[block] = normal(block, text)
	w.mu.Unlock()
	if !known && text != "" {
		w.hear(block, text)
	}
}

// forget drops what has arrived of a text, which follows again.
func (w *watcher) forget(block string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.texts, block)
}

// startAgain drops what has arrived so far, because everything follows again.
func (w *watcher) startAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts, w.texts = make([][]piece[string], 1), map[string][][]piece[byte]{}
	w.unsaved++
}

// ask answers a question with yes, as every watcher of the session does. The first answer counts.
func (w *watcher) ask(ctx context.Context, question string) {
	w.open[question] = true
	w.answer(ctx, w, question)
}

// await waits until accept accepts the facts. It returns false if ctx ends first.
func (w *watcher) await(ctx context.Context, accept func(facts []string) bool) bool {
	for {
		w.mu.Lock()
		all, changed := w.all, w.changed
		w.mu.Unlock()
		if accept(all) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
