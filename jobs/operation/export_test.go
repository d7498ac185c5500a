package operation

import "context"

// Next reads messages once.
func (o *Operation) Next(ctx context.Context, after, limit int) ([]Message, error) {
	return o.record.Next(ctx, number(after), limit)
}

// Pieces splits a text as messages are.
func Pieces(text string) []string { return pieces(text) }

// Split splits a text that comes in pieces, and gives each line or block that was too long in the pieces of its messages.
func Split(parts []string) (texts [][]string) {
	var s splitter
	var list []textPart
	for _, part := range parts {
		list = append(list, s.write(part)...)
	}
	goes := false
	for _, one := range append(list, s.finish()...) {
		if !goes {
			texts = append(texts, nil)
		}
		texts[len(texts)-1], goes = append(texts[len(texts)-1], one.text), one.goes
	}
	return texts
}
