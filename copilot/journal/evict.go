package journal

import "slices"

// Trim drops the superseded entries numbered upTo or below, whatever the budget. Readers notice nothing but holes in the
// numbers. It is meant to be called a while after the activity ended, when those who followed it live have read it.
// What is pinned stays, and what a pinned entry stands for; it takes a later Trim to drop that.
// Trim takes time in proportion to what it drops and to the number of ended groups.
func (j *Journal[T]) Trim(upTo uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = slices.DeleteFunc(j.ended, func(g *group[T]) bool { return j.trim(g, upTo) })
}

// trim drops the entries of a group up to a number, and reports whether none is left.
func (j *Journal[T]) trim(g *group[T], upTo uint64) bool {
	if g.end > j.pin {
		return false
	}
	for len(g.parts) > 0 {
		c, offset := g.oldest()
		if c.id*chunkSize+offset > upTo {
			return false
		}
		g.dropOldest()
		j.drop(c, offset)
	}
	return true
}

// Unpin says that a store has the entries numbered upTo or below, so that the budget applies to them again. A number below
// an earlier one changes nothing; the greatest possible number ends the pinning, for a store that is given up. With
// [Options.Load], it must find these entries before Unpin is called.
func (j *Journal[T]) Unpin(upTo uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pin = max(j.pin, upTo)
	j.evict()
}

// Excess returns by how much the entries kept cost more than the budget, because they are pinned or because the newest
// alone does. It is 0 without a budget.
func (j *Journal[T]) Excess() int {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.options.Budget <= 0 {
		return 0
	}
	return max(0, j.total-j.options.Budget)
}

// evict drops entries until the budget is kept or the oldest has to stay.
func (j *Journal[T]) evict() {
	if j.options.Budget <= 0 {
		return
	}
	for j.total > j.options.Budget {
		if !j.evictSuperseded() && !j.evictOldest() {
			return
		}
	}
}

// evictSuperseded drops the oldest entry of the group that ended first. It reports false if there is none whose end a store
// has: before that, the store would not know that the hole is none.
func (j *Journal[T]) evictSuperseded() bool {
	if len(j.ended) == 0 || j.ended[0].end > j.pin {
		return false
	}
	g := j.ended[0]
	c, offset := g.oldest()
	g.dropOldest()
	if len(g.parts) == 0 {
		j.ended[0] = nil
		j.ended = j.ended[1:]
	}
	j.drop(c, offset)
	return true
}

// evictOldest drops the oldest entry of all, when no superseded one can go, and leaves a gap. It reports false if that
// entry has to stay: because it is the newest, or pinned, or superseded by one that is pinned.
func (j *Journal[T]) evictOldest() bool {
	c := j.chunks[0]
	n := c.first()
	g := c.at(n % chunkSize).group
	if n == j.last || n > j.pin || g != nil && g.end > 0 {
		return false
	}
	if g != nil {
		j.removeFromGroup(g)
	}
	j.drop(c, n%chunkSize)
	j.lost = n
	return true
}

// removeFromGroup takes the oldest entry out of an open group, and forgets a group without entries: a key that never ends must not
// occupy memory for ever.
func (j *Journal[T]) removeFromGroup(g *group[T]) {
	g.dropOldest()
	if len(g.parts) == 0 {
		delete(j.open, g.key)
	}
}

// drop forgets an entry that belongs to no group any more.
func (j *Journal[T]) drop(c *chunk[T], offset uint64) {
	j.total -= c.drop(offset)
	if c.count == 0 {
		j.remove(c)
	}
}
