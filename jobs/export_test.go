package jobs

// Encode writes an event as the store has it.
func Encode(e Event) ([]byte, error) { return encode(e) }

// Decode reads one.
func Decode(number uint64, line []byte) (Event, error) { return decode(number, line) }

// Bodies has each type of event that stands for itself.
func Bodies() []Body { return bodies() }
