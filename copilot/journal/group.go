package journal

// group is the set of kept entries of one key that the key's next end supersedes or has superseded.
type group[T any] struct {
	key   string
	end   uint64    // the number of the entry that supersedes these; 0 while the group is open
	parts []part[T] // by number; none is empty
}

// part is the part of a group in one chunk.
type part[T any] struct {
	chunk   *chunk[T]
	members bitmap
}

func (g *group[T]) add(c *chunk[T], offset uint64) {
	if size := len(g.parts); size == 0 || g.parts[size-1].chunk != c {
		g.parts = append(g.parts, part[T]{chunk: c})
	}
	g.parts[len(g.parts)-1].members.set(offset)
}

// oldest returns the place of the first entry. The group must not be empty.
func (g *group[T]) oldest() (*chunk[T], uint64) {
	offset, _ := g.parts[0].members.next(0)
	return g.parts[0].chunk, offset
}

// dropOldest removes the entry returned by [group.oldest]. Without it, a group that never ends would grow without
// bound.
func (g *group[T]) dropOldest() {
	p := &g.parts[0]
	offset, _ := p.members.next(0)
	p.members.clear(offset)
	if _, more := p.members.next(offset); !more {
		*p = part[T]{}
		g.parts = g.parts[1:]
	}
}

// groupOf returns the group that the newest entry joins, or nil. If the entry is an end, groupOf ends the group.
func (j *Journal[T]) groupOf(key string, end bool) *group[T] {
	switch {
	case key == "":
		return nil
	case end:
		j.end(key)
		return nil
	}
	g := j.open[key]
	if g == nil {
		g = &group[T]{key: key}
		j.open[key] = g
	}
	return g
}

// end makes the newest entry supersede the open group of a key, in O(1).
func (j *Journal[T]) end(key string) {
	g := j.open[key]
	if g == nil {
		return
	}
	delete(j.open, key)
	g.end = j.last
	j.ended = append(j.ended, g)
}
