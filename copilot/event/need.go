package event

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/permission"
)

// Ask sets what a question asks for.
func (q *Question) Ask(needs ...permission.Need) {
	q.Needs, q.Names, q.Opaque = needs, nil, false
	for _, n := range needs {
		q.Opaque = q.Opaque || n.Opaque
		if !slices.Contains(q.Names, n.Name) {
			q.Names = append(q.Names, n.Name)
		}
		if n.Name == permission.Read {
			q.Path = n.Target
		}
	}
}

// AllNeeds are those of a permission, at least one: of a question that has only
// names, they are about nothing that is known, except for the path of a read.
func (q Question) AllNeeds() []permission.Need {
	if len(q.Needs) > 0 {
		return q.Needs
	}
	needs := make([]permission.Need, 0, max(1, len(q.Names)))
	for _, name := range q.Names {
		needs = append(needs, permission.Need{Name: name, Target: q.Path, Opaque: q.Opaque})
	}
	if len(needs) == 0 {
		needs = append(needs, permission.Need{Name: permission.All})
	}
	return needs
}
