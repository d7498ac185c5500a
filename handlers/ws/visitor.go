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

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

const (
	// sessionLifetime is how long a session id is valid.
	sessionLifetime = 24 * time.Hour
	// idBytes is the number of random bytes in a session id.
	idBytes = 32
)

// errUnauthorized reports that a session id is unknown or expired.
var errUnauthorized = errors.New("no such session")

// sessionHash stands for a session id in memory and in the store, so that a copy of the store exposes none.
type sessionHash [sha256.Size]byte

// visitor is the owner of a session id, or of the token.
type visitor struct {
	key    string // unique for each session id
	user   string
	scopes []string
	until  time.Time // zero for the token, which does not expire
}

// hasToken reports whether the visitor authenticated with the token.
func (v visitor) hasToken() bool { return v.until.IsZero() }

// visitors holds the valid session ids.
type visitors struct {
	store *store.Store // nil: session ids are kept in memory only

	mu    sync.Mutex
	known map[sessionHash]visitor // session ids that are not stored
}

func newVisitors(s *store.Store) *visitors {
	return &visitors{store: s, known: map[sessionHash]visitor{}}
}

// admit creates a session id with the given scopes. If it cannot be stored, it stays in memory until the portal ends, and
// unstored contains the cause.
func (v *visitors) admit(ctx context.Context, user string, scopes []string) (id string, who visitor, unstored error) {
	secret := make([]byte, idBytes)
	_, _ = rand.Read(secret) // never fails
	id = base64.RawURLEncoding.EncodeToString(secret)
	sum := sessionHash(sha256.Sum256([]byte(id)))
	who = visitor{key: string(sum[:]), user: user, scopes: scopes, until: time.Now().Add(sessionLifetime)}
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

// find returns the visitor with a session id. Errors: [errUnauthorized]; kind [fault.Unavailable].
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
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = errUnauthorized
	case err != nil:
		err = fault.Errorf(fault.Unavailable, "the session id could not be checked: %w", err)
	}
	return visitor{string(sum[:]), known.User, strings.Fields(known.Scopes), known.Until}, err
}

// dismiss invalidates a visitor's session id. A visitor with the token has none.
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
