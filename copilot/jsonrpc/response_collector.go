package jsonrpc

import (
	"bytes"
	"sync"
)

// responseCollector collects the response to one message: a single one, or those of a batch in the order of their
// requests.
type responseCollector struct {
	batch bool
	done  func(response []byte, after []func()) // called once, with nil if there is no response

	mu        sync.Mutex
	responses [][]byte
	after     [][]func()
	missing   int
}

func newResponseCollector(n int, batch bool, done func([]byte, []func())) *responseCollector {
	return &responseCollector{batch: batch, done: done, responses: make([][]byte, n), after: make([][]func(), n), missing: n}
}

// put sets the response to request i, or nil, and the functions to run after it.
func (r *responseCollector) put(i int, response []byte, after []func()) {
	if !r.fill(i, response, after) {
		return
	}
	var all []func()
	for _, a := range r.after {
		all = append(all, a...)
	}
	r.done(r.join(), all)
}

// fill reports whether it was the last.
func (r *responseCollector) fill(i int, response []byte, after []func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.responses[i], r.after[i] = response, after
	r.missing--
	return r.missing == 0
}

func (r *responseCollector) join() []byte {
	if !r.batch {
		return r.responses[0]
	}
	var there [][]byte
	for _, response := range r.responses {
		if response != nil {
			there = append(there, response)
		}
	}
	if there == nil {
		return nil
	}
	all := append([]byte{'['}, bytes.Join(there, []byte{','})...)
	return append(all, ']')
}
