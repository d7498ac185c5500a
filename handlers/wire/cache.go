// Package wire shares the encoded form of entries among the readers of a record: the first reader that needs it encodes it.
// It also has what dialects decode and encode alike.
package wire

import (
	"sync"
	"sync/atomic"
)

const (
	slots   = 512     // entries that a cache holds; a reader that is further behind encodes for itself
	maxForm = 8 << 10 // bytes of a form that is kept
)

// Cache holds the encoded form, V, of the newest entries of a record. The key, K, has everything that the form depends on.
// It is safe for concurrent use.
type Cache[K comparable, V ~[]byte] struct {
	slots [slots]atomic.Pointer[slot[K, V]]
}

type slot[K comparable, V ~[]byte] struct {
	key  K
	form V
}

// Get returns the form of the entry with the number n, which encode makes if the cache does not have it.
func (c *Cache[K, V]) Get(n uint64, key K, encode func() (V, error)) (V, error) {
	at := &c.slots[n%slots]
	if s := at.Load(); s != nil && s.key == key {
		return s.form, nil
	}
	form, err := encode()
	if err == nil && len(form) <= maxForm {
		at.Store(&slot[K, V]{key, form})
	}
	return form, err
}

// Caches are the caches of the records that have readers, by session. The zero value is empty. It is safe for concurrent use.
type Caches[K comparable, V ~[]byte] struct {
	mu        sync.Mutex
	bySession map[string]*counted[K, V]
}

type counted[K comparable, V ~[]byte] struct {
	cache   Cache[K, V]
	readers int
}

// Acquire returns the cache of a session, for a reader that calls release once when it ends. The last one drops the cache.
func (c *Caches[K, V]) Acquire(session string) (cache *Cache[K, V], release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.bySession[session]
	if of == nil {
		of = &counted[K, V]{}
		if c.bySession == nil {
			c.bySession = map[string]*counted[K, V]{}
		}
		c.bySession[session] = of
	}
	of.readers++
	return &of.cache, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if of.readers--; of.readers == 0 {
			delete(c.bySession, session)
		}
	}
}
