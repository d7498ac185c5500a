package wire

// List returns what one makes of each element. The result is never nil: JSON has an empty list for it, not null.
func List[A, B any](list []A, one func(A) B) []B {
	result := make([]B, len(list))
	for i, a := range list {
		result[i] = one(a)
	}
	return result
}
