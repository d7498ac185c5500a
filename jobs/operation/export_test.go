package operation

// Pieces splits a text as messages are.
func Pieces(text string) []string { return pieces(text) }

// Split splits a text that comes in pieces.
func Split(parts []string) (told []string) {
	var s splitter
	for _, part := range parts {
		told = append(told, s.write(part)...)
	}
	return append(told, s.finish()...)
}
