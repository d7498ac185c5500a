package permission

// MatchesPath reports whether the pattern of a rule matches a path on a file system that ignores case and the composition of characters.
func MatchesPath(pattern, path string) bool {
	p, err := parsePath(pattern)
	own, ok := p.(pathPattern)
	return err == nil && ok && own.matchesPath(path, true)
}
