// Package share lets people into one session by a link: to read it, or to read it and answer its questions. A link has a token, which
// only the person who made it sees, once; it expires and can be revoked.
//
// The package decides who holds a valid link. What a holder may call is decided where requests are admitted, and
// [copilot.Access] keeps the holder to the one session.
package share

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// Rights say what the holder of a link may do with its session.
type Rights string

// The rights. Each includes those before it.
const (
	Read   Rights = "read"   // follow the session and read its past and its changes
	Answer Rights = "answer" // also answer its questions, once each
)

// ParseRights reads rights; "" means [Read]. Error: kind [fault.Invalid].
func ParseRights(text string) (Rights, error) {
	switch r := Rights(text); r {
	case "":
		return Read, nil
	case Read, Answer:
		return r, nil
	}
	return "", fault.Errorf(fault.Invalid, "rights: %.50q is neither read nor answer", text)
}

// Include reports whether r allows what needs the given rights.
func (r Rights) Include(needed Rights) bool { return r == Answer || needed == Read }

// Describe says to the holder of a link what it is for.
func (r Rights) Describe() string {
	if r == Answer {
		return "this link lets you read one session and answer its questions, nothing else"
	}
	return "this link lets you read one session, nothing else"
}

// Lifetimes of links.
const (
	DefaultLifetime = 7 * 24 * time.Hour
	MaxLifetime     = 30 * 24 * time.Hour
	minLifetime     = time.Minute
)

// Seconds returns a lifetime in seconds as clients send it; 0 means [DefaultLifetime]. Error: kind [fault.Invalid].
func Seconds(n int64) (time.Duration, error) {
	if n < 0 || n > int64(MaxLifetime/time.Second) {
		return 0, errLifetime
	}
	return time.Duration(n) * time.Second, nil
}

var errLifetime = fault.Errorf(fault.Invalid, "a link is valid for at least a minute and at most 30 days")

const (
	// maxLabel is the longest label, in characters.
	maxLabel = 100
	// maxShares is how many valid links a session may have.
	maxShares = 50
)

// Share is a link without its token.
type Share struct {
	ID      string // not secret: it is part of the address
	Session string
	Rights  Rights
	Label   string // whom it is for; may be empty
	Created time.Time
	Expires time.Time
	Used    time.Time // to the minute; zero: never
}

// access returns what the holder may use.
func (s Share) access() copilot.Access {
	return copilot.Access{Session: s.Session, Answers: s.Rights.Include(Answer)}
}

func fromStore(x store.Share) Share {
	return Share{x.ID, x.Session, Rights(x.Rights), x.Label, x.Created, x.Expires, x.Used}
}

// ErrNotFound reports a link that does not work. It does not say why: who holds no valid token learns nothing.
var ErrNotFound = &fault.Error{Kind: fault.NotFound, Text: "this link does not work: it has expired or was revoked"}

// A token is the prefix, the id and the secret. The prefix tells it from the portal's own token, so that a link that has expired never
// counts as no link.
const (
	prefix   = "share_"
	idLength = 12
)

// newToken returns a token, with 130 random bits beside its id.
func newToken() (id, token string) {
	id = strings.ToLower(rand.Text()[:idLength])
	return id, prefix + id + strings.ToLower(rand.Text())
}

// IsToken reports whether a text claims to be the token of a link.
func IsToken(text string) bool { return strings.HasPrefix(text, prefix) }

// IDOf returns the id in a token, or "".
func IDOf(token string) string {
	rest, ok := strings.CutPrefix(token, prefix)
	if !ok || len(rest) <= idLength {
		return ""
	}
	return rest[:idLength]
}

// IsID reports whether a text may be the id of a link.
func IsID(text string) bool {
	return len(text) == idLength && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '2' || r > '7') })
}

// Address returns the address of a link on a portal with a base path ("" or as in "/portal"). The token is in the fragment, which browsers do not send.
func Address(base, token string) string { return base + "/s/" + IDOf(token) + "/#" + token }

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// matches compares in constant time.
func matches(token string, x store.Share) bool {
	return subtle.ConstantTimeCompare(hash(token), x.Hash) == 1
}
