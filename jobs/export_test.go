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

// Encode writes an event as the store has it.
func Encode(e Event) ([]byte, error) { return encode(e) }

// Decode reads one.
func Decode(number uint64, line []byte) (Event, error) { return decode(number, line) }

// Bodies has each type of event that stands for itself.
func Bodies() []Body { return bodies() }
