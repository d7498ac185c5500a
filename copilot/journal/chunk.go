package journal

import (
	"cmp"
	"slices"
)

// sparse is the divisor of the slots of a chunk: when fewer than 1/sparse of them are in use, those are moved to a
// smaller array.
const sparse = 4

// slot holds an entry. Its number follows from its place.
type slot[T any] struct {
	value T
	group *group[T] // nil for entries that nothing can supersede
	cost  int
}

// chunk holds the kept entries among chunkSize consecutive ones. Offsets are numbers modulo chunkSize.
type chunk[T any] struct {
	id    uint64    // number / chunkSize, the same for all its entries
	slots []slot[T] // one for each bit of held, in order
	held  bitmap    // the offsets that have a slot
	kept  bitmap    // the offsets whose entries were not dropped
	count int       // number of bits in kept
}

func (c *chunk[T]) add(offset uint64, s slot[T]) {
	c.slots = append(c.slots, s)
	c.held.set(offset)
	c.kept.set(offset)
	c.count++
}

func (c *chunk[T]) at(offset uint64) *slot[T] {
	return &c.slots[c.held.rank(offset)]
}

// first returns the number of the oldest entry kept. The chunk must not be empty.
func (c *chunk[T]) first() uint64 {
	offset, _ := c.kept.next(0)
	return c.id*chunkSize + offset
}

// drop drops an entry and returns its cost.
func (c *chunk[T]) drop(offset uint64) int {
	s := c.at(offset)
	cost := s.cost
	*s = slot[T]{} // frees what the entry refers to before the chunk is freed
	c.kept.clear(offset)
	c.count--
	if c.count*sparse <= len(c.slots) {
		c.pack()
	}
	return cost
}

// pack frees the slots of dropped entries. Otherwise one entry could hold the memory of a whole chunk. Three of four
// slots must have been dropped since the last time, so the cost for each drop is O(1).
func (c *chunk[T]) pack() {
	slots := make([]slot[T], 0, c.count)
	for offset, ok := c.kept.next(0); ok; offset, ok = c.kept.next(offset + 1) {
		slots = append(slots, *c.at(offset))
	}
	c.slots, c.held = slots, c.kept
}

// collect appends entries numbered from or above, until entries has limit elements.
func (c *chunk[T]) collect(entries []Entry[T], from uint64, limit int) []Entry[T] {
	base := c.id * chunkSize
	offset, ok := c.kept.next(max(from, base) - base)
	for ; ok && len(entries) < limit; offset, ok = c.kept.next(offset + 1) {
		s := c.at(offset)
		superseded := s.group != nil && s.group.end > 0
		entries = append(entries, Entry[T]{N: base + offset, Value: s.value, Superseded: superseded})
	}
	return entries
}

// tail returns the chunk of the newest number.
func (j *Journal[T]) tail() *chunk[T] {
	id := j.last / chunkSize
	if size := len(j.chunks); size > 0 && j.chunks[size-1].id == id {
		return j.chunks[size-1]
	}
	c := &chunk[T]{id: id}
	if len(j.chunks) > 0 { // the first chunk grows instead, because most journals stay small
		c.slots = make([]slot[T], 0, chunkSize)
	}
	j.chunks = append(j.chunks, c)
	return c
}

// find returns the index of the first chunk whose id is not below the given one.
func (j *Journal[T]) find(id uint64) int {
	i, _ := slices.BinarySearchFunc(j.chunks, id, func(c *chunk[T], id uint64) int { return cmp.Compare(c.id, id) })
	return i
}

// remove removes an empty chunk. Removing the oldest one, the common case, does not move the others.
func (j *Journal[T]) remove(c *chunk[T]) {
	i := j.find(c.id)
	if i > 0 {
		j.chunks = slices.Delete(j.chunks, i, i+1)
		return
	}
	j.chunks[0] = nil
	j.chunks = j.chunks[1:]
}
