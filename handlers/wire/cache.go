// Package wire shares the encoded form of entries among the readers of a record: the first reader that needs it encodes it.
// It also has what dialects decode and encode alike.
package wire

import (
	"sync"
	"sync/atomic"
)

const (
	perBlock  = 256     // entries; a cache has only the blocks that it uses
	shortForm = 1 << 10 // bytes of a form that counts as short
	longForm  = 8 << 10 // bytes of a form that is kept
)

// Cache holds the encoded form, V, of the newest entries of a record, up to 8 MB: 4,096 short ones, because readers of a burst are far apart, and
// 512 long ones. A reader that is further behind encodes for itself. It holds nothing new for a single reader that has acquired it. The key, K, has everything that
// the form depends on. It is safe for concurrent use.
type Cache[K comparable, V ~[]byte] struct {
	short   [16]atomic.Pointer[block[K, V]]
	long    [2]atomic.Pointer[block[K, V]]
	readers atomic.Int32 // that have acquired it
}

type block[K comparable, V ~[]byte] [perBlock]atomic.Pointer[slot[K, V]]

type slot[K comparable, V ~[]byte] struct {
	key  K
	form V
}

// Get returns the form of the entry with the number n, which encode makes if the cache does not have it.
func (c *Cache[K, V]) Get(n uint64, key K, encode func() (V, error)) (V, error) {
	for _, ring := range [][]atomic.Pointer[block[K, V]]{c.short[:], c.long[:]} {
		if b := blockOf(ring, n).Load(); b != nil {
			if s := b[n%perBlock].Load(); s != nil && s.key == key {
				return s.form, nil
			}
		}
	}
	form, err := encode()
	if err == nil && len(form) <= longForm && c.readers.Load() != 1 {
		c.keep(n, &slot[K, V]{key, form})
	}
	return form, err
}

func (c *Cache[K, V]) keep(n uint64, s *slot[K, V]) {
	ring := c.short[:]
	if len(s.form) > shortForm {
		ring = c.long[:]
	}
	of := blockOf(ring, n)
	if of.Load() == nil {
		of.CompareAndSwap(nil, &block[K, V]{})
	}
	of.Load()[n%perBlock].Store(s)
}

func blockOf[K comparable, V ~[]byte](ring []atomic.Pointer[block[K, V]], n uint64) *atomic.Pointer[block[K, V]] {
	return &ring[n/perBlock%uint64(len(ring))]
}

// Caches are the caches of the records that have readers, by session. The zero value is empty. It is safe for concurrent use.
type Caches[K comparable, V ~[]byte] struct {
	mu        sync.Mutex
	bySession map[string]*Cache[K, V]
}

// Acquire returns the cache of a session, for a reader that calls release once when it ends. The last one drops the cache.
func (c *Caches[K, V]) Acquire(session string) (cache *Cache[K, V], release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cache = c.bySession[session]
	if cache == nil {
		cache = &Cache[K, V]{}
		if c.bySession == nil {
			c.bySession = map[string]*Cache[K, V]{}
		}
		c.bySession[session] = cache
	}
	cache.readers.Add(1)
	return cache, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if cache.readers.Add(-1) == 0 {
			delete(c.bySession, session)
		}
	}
}
