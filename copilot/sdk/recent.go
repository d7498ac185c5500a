package sdk

// recent remembers ids: the last ones, at least as many as most and never more
// than twice that. Not for concurrent use.
type recent struct {
	most       int
	young, old map[string]bool
}

func (r *recent) has(id string) bool { return r.young[id] || r.old[id] }

func (r *recent) add(id string) {
	if r.young == nil || len(r.young) >= r.most {
		r.turn()
	}
	r.young[id] = true
}

// turn makes what is remembered old; what was old before is forgotten.
func (r *recent) turn() { r.old, r.young = r.young, map[string]bool{} }
