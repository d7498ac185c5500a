package wire_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/wire"
)

func TestEntryIsEncodedOnceForAllReaders(t *testing.T) {
	var caches wire.Caches[uint64, []byte]
	encoded := 0
	_, releaseFirst := caches.Acquire("s")
	defer releaseFirst()
	for range 3 {
		cache, release := caches.Acquire("s")
		defer release()
		form, err := cache.Get(7, 7, func() ([]byte, error) { encoded++; return []byte("seven"), nil })
		require.NoError(t, err)
		assert.Equal(t, "seven", string(form))
	}
	assert.Equal(t, 1, encoded)
}

func TestNothingIsKeptForASingleReader(t *testing.T) {
	var caches wire.Caches[uint64, []byte]
	cache, release := caches.Acquire("s")
	defer release()
	encoded := 0
	get := func() {
		_, err := cache.Get(1, 1, func() ([]byte, error) { encoded++; return []byte("one"), nil })
		require.NoError(t, err)
	}
	get()
	get()
	assert.Equal(t, 2, encoded)
	_, releaseOther := caches.Acquire("s")
	defer releaseOther()
	get()
	get()
	assert.Equal(t, 3, encoded)
}

func TestFailedEncodingIsNotKept(t *testing.T) {
	var cache wire.Cache[uint64, []byte]
	broken := errors.New("broken")
	_, err := cache.Get(1, 1, func() ([]byte, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	form, err := cache.Get(1, 1, func() ([]byte, error) { return []byte("one"), nil })
	require.NoError(t, err)
	assert.Equal(t, "one", string(form))
}

func TestLargeFormIsNotKept(t *testing.T) {
	var cache wire.Cache[uint64, []byte]
	encoded := 0
	for range 2 {
		_, err := cache.Get(1, 1, func() ([]byte, error) { encoded++; return make([]byte, 9<<10), nil })
		require.NoError(t, err)
	}
	assert.Equal(t, 2, encoded)
}

func TestReadersFarApartShareForms(t *testing.T) {
	var cache wire.Cache[uint64, []byte]
	encoded := 0
	get := func(n uint64) {
		_, err := cache.Get(n, n, func() ([]byte, error) { encoded++; return []byte("x"), nil })
		require.NoError(t, err)
	}
	for n := range uint64(3000) {
		get(n + 3000)
		get(n + 1000) // the last 1,000 are those that the first reader began with
	}
	assert.Equal(t, 5000, encoded)
}

func TestFormsOfACacheTakeBoundedMemory(t *testing.T) {
	for size, most := range map[int]int{1 << 10: 4096, 8 << 10: 512} {
		var cache wire.Cache[uint64, []byte]
		for n := range uint64(10_000) {
			_, err := cache.Get(n, n, func() ([]byte, error) { return make([]byte, size), nil })
			require.NoError(t, err)
		}
		kept := 0
		for n := range uint64(10_000) {
			_, err := cache.Get(n, n, func() ([]byte, error) { return nil, errors.New("not kept") })
			if err == nil {
				kept++
			}
		}
		assert.Equal(t, most, kept, size)
	}
}

func TestLastReaderDropsTheCache(t *testing.T) {
	var caches wire.Caches[uint64, []byte]
	first, releaseFirst := caches.Acquire("s")
	second, releaseSecond := caches.Acquire("s")
	other, releaseOther := caches.Acquire("t")
	defer releaseOther()
	assert.Same(t, first, second)
	assert.NotSame(t, first, other)
	releaseFirst()
	third, releaseThird := caches.Acquire("s")
	assert.Same(t, first, third)
	releaseSecond()
	releaseThird()
	again, releaseAgain := caches.Acquire("s")
	defer releaseAgain()
	assert.NotSame(t, first, again)
}

func TestReadersAtAnyPositionGetTheirOwnEntries(t *testing.T) {
	var cache wire.Cache[uint64, []byte]
	var readers sync.WaitGroup
	for start := range uint64(8) {
		readers.Go(func() {
			for n := start * 500; n < 10_000; n++ {
				form, _ := cache.Get(n, n, func() ([]byte, error) { return fmt.Append(nil, n), nil })
				assert.Equal(t, fmt.Sprint(n), string(form))
			}
		})
	}
	readers.Wait()
}
