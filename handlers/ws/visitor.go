package ws

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

const (
	// visit is how long a session id is good.
	visit = 24 * time.Hour
	// idBytes is how much chance is in one.
	idBytes = 32
)

// errUnauthorized says that a session id is not, or no more, good.
var errUnauthorized = errors.New("no such session")

// sessionHash is what is kept of a session id: who reads the store has none.
type sessionHash [sha256.Size]byte

// visitor is who has a session id.
type visitor struct {
	key    string // tells visitors apart
	user   string
	scopes []string  // what the visitor may do
	until  time.Time // zero: who came with the token has no session id
}

// hasToken says whether it is the token that the visitor came with.
func (v visitor) hasToken() bool { return v.until.IsZero() }

// visitors knows the session ids.
type visitors struct {
	store *store.Store // nil: memory alone keeps them

	mu    sync.Mutex
	known map[sessionHash]visitor // those that are not stored
}

func newVisitors(s *store.Store) *visitors {
	return &visitors{store: s, known: map[sessionHash]visitor{}}
}

// admit makes a session id that is good for some scopes. If it cannot be stored, memory keeps
// it, and unstored says why; it ends with the portal then.
func (v *visitors) admit(ctx context.Context, user string, scopes []string) (id string, who visitor, unstored error) {
	secret := make([]byte, idBytes)
	_, _ = rand.Read(secret) // never fails
	id = base64.RawURLEncoding.EncodeToString(secret)
	sum := sessionHash(sha256.Sum256([]byte(id)))
	who = visitor{key: string(sum[:]), user: user, scopes: scopes, until: time.Now().Add(visit)}
	if v.store != nil {
		unstored = v.store.Admit(ctx, sum[:], store.Visitor{User: user, Scopes: strings.Join(scopes, " "), Until: who.until})
		if unstored == nil {
			return id, who, nil
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.known, func(_ sessionHash, old visitor) bool { return !old.until.After(time.Now()) })
	v.known[sum] = who
	return id, who, unstored
}

// find tells who has a session id. Error: [errUnauthorized].
func (v *visitors) find(ctx context.Context, id string) (who visitor, err error) {
	if len(id) != base64.RawURLEncoding.EncodedLen(idBytes) {
		return visitor{}, errUnauthorized
	}
	sum := sessionHash(sha256.Sum256([]byte(id)))
	v.mu.Lock()
	who, ok := v.known[sum]
	v.mu.Unlock()
	switch {
	case ok && who.until.After(time.Now()):
		return who, nil
	case ok, v.store == nil:
		return visitor{}, errUnauthorized
	}
	known, err := v.store.Admitted(ctx, sum[:])
	if errors.Is(err, store.ErrNotFound) {
		err = errUnauthorized
	}
	return visitor{string(sum[:]), known.User, strings.Fields(known.Scopes), known.Until}, err
}

// dismiss makes a session id a bad one. Who came with the token has none.
func (v *visitors) dismiss(ctx context.Context, who visitor) error {
	if who.hasToken() {
		return nil
	}
	v.mu.Lock()
	_, unstored := v.known[sessionHash([]byte(who.key))]
	delete(v.known, sessionHash([]byte(who.key)))
	v.mu.Unlock()
	if unstored || v.store == nil {
		return nil
	}
	return v.store.Dismiss(ctx, []byte(who.key))
}
