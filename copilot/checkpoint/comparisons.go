package checkpoint

import "slices"

// maxCompared is the maximum number of changes that a store keeps in memory, unless the newest comparison alone has more; one without changes
// counts as one.
const maxCompared = 20_000

// comparisons has the changes between trees, which never change. The zero value is empty.
type comparisons struct {
	lists map[[2]string][]Change
	order [][2]string // oldest first
	size  int
}

// add adds a comparison that is missing, and drops the oldest ones that are too many.
func (c *comparisons) add(trees [2]string, list []Change) {
	if _, ok := c.lists[trees]; ok {
		return
	}
	if c.lists == nil {
		c.lists = map[[2]string][]Change{}
	}
	c.lists[trees] = list
	c.order = append(c.order, trees)
	for c.size += cost(list); c.size > maxCompared && len(c.order) > 1; c.order = c.order[1:] {
		c.size -= cost(c.lists[c.order[0]])
		delete(c.lists, c.order[0])
	}
}

func cost(list []Change) int { return max(1, len(list)) }

// compared returns the changes between two trees if they are known.
func (s *Store) compared(trees [2]string) ([]Change, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.comparisons.lists[trees]
	return slices.Clone(list), ok
}

func (s *Store) keepCompared(trees [2]string, list []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comparisons.add(trees, slices.Clone(list))
}
