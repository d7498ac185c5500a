package secret

// Held returns the number of bytes held back.
func (s *Stream) Held() int { return len(s.held) }
