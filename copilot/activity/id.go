package activity

import "github.com/google/uuid"

// NewID returns the id of an activity to begin: a random one or, with a key, one that follows from the key and what it is for. Whoever begins
// that again, because the answer was lost, gets [store.ErrExists].
func NewID(purpose, key string) string {
	if key == "" {
		return uuid.NewString()
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(purpose+" "+key)).String()
}
