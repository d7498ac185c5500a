package copilot

// HasOpenQuestion says whether a question is open, as far as that can be known without taking
// the session: of one at rest it is assumed.
func (s *Session) HasOpenQuestion(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.questions[id]
	return open || s.closed && (s.suspended || s.owner != 0)
}
