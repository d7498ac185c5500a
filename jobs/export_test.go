package jobs

import "context"

// Next reads events once.
func (j *Job) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return j.record.Next(ctx, after, limit)
}

// Next reads events once.
func (t *Task) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return t.record.Next(ctx, after, limit)
}

// Encode encodes an event as the store has it.
func Encode(e Event) ([]byte, error) { return encode(e) }

// Decode decodes a stored event.
func Decode(number uint64, line []byte) (Event, error) { return decode(number, line) }

// Bodies returns a value of each event type that is stored on its own.
func Bodies() (list []Body) {
	for _, t := range eventTypes() {
		list = append(list, t.zero)
	}
	return list
}
