package sdk

// idSet remembers the latest ids: at least most and at most twice that. It is not safe for concurrent use.
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

// rotate forgets the old ids and makes the current ones old.
func (r *idSet) rotate() { r.old, r.young = r.young, map[string]bool{} }
