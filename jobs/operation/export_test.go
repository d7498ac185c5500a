package operation

import "context"

// Next reads messages once.
func (o *Operation) Next(ctx context.Context, after, limit int) ([]Message, error) {
	return o.record.Next(ctx, number(after), limit)
}

// Pieces splits a text into messages.
func Pieces(text string) []string { return pieces(text) }

// Split splits a text that arrives in parts. It returns the lines and blocks, each with its pieces.
func Split(parts []string) (texts [][]string) {
	var s splitter
	var list []textPart
	for _, part := range parts {
		list = append(list, s.write(part)...)
	}
	more := false
	for _, one := range append(list, s.finish()...) {
		if !more {
			texts = append(texts, nil)
		}
		texts[len(texts)-1], more = append(texts[len(texts)-1], one.text), one.extent == continued
	}
	return texts
}
