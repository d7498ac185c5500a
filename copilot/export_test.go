package copilot

// Decide is decide, for tests.
func Decide(q Question, dir string, policies ...Policy) Decision { return decide(q, dir, policies...) }
