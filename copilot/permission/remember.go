package permission

import (
	"maps"
)

// without are the remembered rules that stay when rules are put over old ones: not
// those that are given anew, nor those of a name whose rule becomes another.
func (p Policy) Without(rules, old Policy) Policy {
	left := maps.Clone(p)
	maps.DeleteFunc(left, func(key string, _ Decision) bool {
		d, given := rules.lookup(subject(key))
		before, had := old.lookup(subject(key))
		return rules.Has(key) || given && (!had || d != before)
	})
	return left
}
