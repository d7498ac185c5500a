package journal

import "slices"

// Trim drops the superseded entries numbered upTo or below, whatever the budget. Readers notice nothing but holes in the
// numbers. It is meant to be called a while after the activity ended, when those who followed it live have read it.
// It takes time in proportion to what it drops and to the number of ended groups.
func (j *Journal[T]) Trim(upTo uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = slices.DeleteFunc(j.ended, func(g *group[T]) bool { return j.trim(g, upTo) })
}

// trim drops the entries of a group up to a number, and reports whether none is left.
func (j *Journal[T]) trim(g *group[T], upTo uint64) bool {
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

// evict drops entries until the budget is kept or only the newest is left.
func (j *Journal[T]) evict() {
	if j.options.Budget <= 0 {
		return
	}
	for j.total > j.options.Budget {
		if len(j.ended) > 0 {
			j.evictSuperseded()
		} else if !j.evictOldest() {
			return
		}
	}
}

// evictSuperseded drops the oldest entry of the group that ended first.
func (j *Journal[T]) evictSuperseded() {
	g := j.ended[0]
	c, offset := g.oldest()
	g.dropOldest()
	if len(g.parts) == 0 {
		j.ended[0] = nil
		j.ended = j.ended[1:]
	}
	j.drop(c, offset)
}

// evictOldest drops the oldest entry of all, when none is superseded any more, and leaves a gap. It reports false if that
// is the newest entry, which stays.
func (j *Journal[T]) evictOldest() bool {
	c := j.chunks[0]
	n := c.first()
	if n == j.last {
		return false
	}
	if g := c.at(n % chunkSize).group; g != nil {
		j.leave(g)
	}
	j.drop(c, n%chunkSize)
	j.lost = n
	return true
}

// leave takes the oldest entry out of an open group, and forgets a group without entries: a key that never ends must not
// occupy memory for ever.
func (j *Journal[T]) leave(g *group[T]) {
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
