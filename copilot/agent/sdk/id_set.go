package sdk

// idSet remembers ids: the last ones, at least as many as most and never more
// than twice that. Not for concurrent use.
type idSet struct {
	most       int
	young, old map[string]bool
}

func (r *idSet) has(id string) bool { return r.young[id] || r.old[id] }

func (r *idSet) add(id string) {
	if r.young == nil || len(r.young) >= r.most {
		r.rotate()
	}
	r.young[id] = true
}

// rotate makes what is remembered old; what was old before is forgotten.
func (r *idSet) rotate() { r.old, r.young = r.young, map[string]bool{} }
