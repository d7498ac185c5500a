package copilot

// Asks says whether a question is open, as far as that can be known without taking
// the session: of one at rest it is assumed.
func (s *Session) Asks(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.questions[id]
	return open || s.closed && (s.rests || s.owner != 0)
}
