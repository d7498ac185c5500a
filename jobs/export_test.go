package jobs

// Encode writes events as the store has them.
func Encode(events []Event) ([][]byte, error) { return encodeAll(events) }

// Decode reads one.
func Decode(number uint64, line []byte) (Event, error) { return decode(number, line) }

// Bodies has each type of event that stands for itself.
func Bodies() []Body { return bodies() }
