package journal

import "slices"

// Trim drops the superseded entries up to and including upTo, whatever the budget. Readers see only holes in the
// numbers. Call it some time after the activity ended, when live readers have read them. Pinned entries stay, and so do
// the entries that a pinned one supersedes; a later Trim drops those. Trim takes time proportional to the number of
// dropped entries and of ended groups.
func (j *Journal[T]) Trim(upTo uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = slices.DeleteFunc(j.ended, func(g *group[T]) bool { return j.trim(g, upTo) })
}

// trim drops the entries of a group up to and including a number, and reports whether none is left.
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

// Unpin reports that a store has the entries up to and including upTo, so that the budget applies to them again. A
// lower number than before changes nothing. The maximum number ends the pinning, for a store that is given up. With
// [Options.Load], these entries must be loadable before Unpin is called.
func (j *Journal[T]) Unpin(upTo uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pin = max(j.pin, upTo)
	j.evict()
}

// Excess returns how much the cost of the kept entries exceeds the budget, because they are pinned or because the
// newest alone does. It is 0 without a budget.
func (j *Journal[T]) Excess() int {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.options.Budget <= 0 {
		return 0
	}
	return max(0, j.total-j.options.Budget)
}

// evict drops entries until the cost is within the budget or the oldest entry must stay.
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

// evictSuperseded drops the oldest entry of the group that ended first. It reports false if there is no group whose end
// is stored: without the end, the store could not tell the hole from a gap.
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

// evictOldest drops the oldest entry of all, which leaves a gap, when no superseded one can be dropped. It reports
// false if the entry must stay because it is the newest, pinned, or superseded by a pinned one.
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

// removeFromGroup removes the oldest entry from an open group. It deletes an empty group, because a key that never ends
// must not occupy memory for ever.
func (j *Journal[T]) removeFromGroup(g *group[T]) {
	g.dropOldest()
	if len(g.parts) == 0 {
		delete(j.open, g.key)
	}
}

// drop drops an entry that belongs to no group any more.
func (j *Journal[T]) drop(c *chunk[T], offset uint64) {
	j.total -= c.drop(offset)
	if c.count == 0 {
		j.remove(c)
	}
}
