package copilot

// Decide is decide, for tests.
func Decide(q Question, dir string, policies ...Policy) Decision { return decide(q, dir, policies...) }

// EscapePath is escapePath, for tests.
func EscapePath(path string) string { return escapePath(path) }
