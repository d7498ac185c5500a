package checkpoint

// MaxCompared is the maximum number of changes that a store keeps, unless one comparison has more.
const MaxCompared = maxCompared

// KeptOf returns which comparisons are kept of some with a number of changes each, by their order.
func KeptOf(sizes ...int) (kept []int) {
	var c comparisons
	for n, size := range sizes {
		c.add([2]string{string(rune(n))}, make([]Change, size))
	}
	for n := range sizes {
		if _, ok := c.lists[[2]string{string(rune(n))}]; ok {
			kept = append(kept, n)
		}
	}
	return kept
}
