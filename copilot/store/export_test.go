package store

// What the tests of the inside reach.
var Match = match

// Encode and Decode are the inner form of segments. Payloads stay names.
func Encode(entries []Entry, compressed bool) []byte {
	var all []packed
	for _, e := range entries {
		all = append(all, pack(e))
	}
	if compressed {
		return deflate(encode(all))
	}
	return encode(all)
}

// Decode gives the entries without what is stored beside them.
func Decode(segment []byte) ([]Entry, error) {
	all, err := decode(segment)
	var entries []Entry
	for _, p := range all {
		entries = append(entries, Entry{Number: p.number, Data: p.data.bytes, Payload: p.payload.bytes})
	}
	return entries, err
}

// Started tells when a process started.
var Started = started
