package process

import (
	"slices"
	"sync"
)

// Tail keeps the last 2 KiB that are written to it. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 2 << 10

// Write never fails or blocks.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if n := len(t.data) - tailSize; n > 0 {
		t.data = slices.Delete(t.data, 0, n)
	}
	return len(b), nil
}

// String returns the kept bytes.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
