package secret

// Held returns how many bytes are held back.
func (s *Stream) Held() int { return len(s.held) }
