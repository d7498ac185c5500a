package ws

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
)

// verification is the body of POST /auth/verify.
type verification struct {
	Token  string   `json:"token"`
	Scopes []string `json:"scopes"`
}

// verify returns a session id to a client with the token, or to any client where no token is configured.
func (a *API) verify(c *gin.Context) {
	var v verification
	err := read(c, maxVerification, &v)
	if err == nil {
		err = checkScopes(v.Scopes)
	}
	if err != nil {
		a.fail(c, err)
		return
	}
	token, ok := a.check(c.Request, v.Token)
	if !ok {
		a.refuseToken(c, v.Token != "" || c.GetHeader("Authorization") != "") // without either, the client guessed nothing
		return
	}
	id, who, unstored := a.visitors.admit(c.Request.Context(), a.options.User(), granted(v.Scopes))
	message := "use the session id as X-Session-ID, or as session_id in an address"
	if unstored != nil {
		a.options.Log.Warn("a session id could not be stored and ends with the portal", "err", unstored)
		message += "; it could not be stored, so it ends with the portal"
		if failure := new(store.Failure); errors.As(unstored, &failure) {
			message += ": " + failure.Text
		}
	}
	answer(c, http.StatusOK, gin.H{
		"valid": true, "session_id": id, "user": who.user, "scopes_granted": who.scopes,
		"token_prefix": tokenPrefix(token), "message": message, "expires_at": event.FormatTime(who.until),
	})
}

func (a *API) refuseToken(c *gin.Context, guess bool) {
	if guess {
		if err := a.guessed(c.Request); errors.Is(err, errTooMany) {
			a.fail(c, err)
			return
		}
	}
	invalid(c, "wrong token: the portal prints its token at startup")
}

// check reports whether a request carries the portal's token, and returns that token.
func (a *API) check(r *http.Request, given string) (token string, ok bool) {
	token = a.options.Token()
	switch {
	case token == "":
		return "", true
	case given != "":
		x, y := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
		return token, subtle.ConstantTimeCompare(x[:], y[:]) == 1
	}
	return token, a.options.Authorized(r)
}

// tokenPrefix returns the start of a token, so that users can tell their tokens apart.
func tokenPrefix(token string) string {
	runes := []rune(token)
	return string(runes[:min(4, len(runes)/2)])
}

func invalid(c *gin.Context, text string) {
	c.Header("WWW-Authenticate", "Bearer")
	c.Header("Connection", "close") // do not keep unauthorized connections open
	answer(c, http.StatusUnauthorized, gin.H{"valid": false, "error": text})
}

// whoAmI reports whether a session id is valid.
func (a *API) whoAmI(c *gin.Context) {
	who, err := a.authenticate(c.Request)
	switch {
	case errors.Is(err, errUnauthorized):
		invalid(c, unauthorizedText)
	case err != nil:
		a.fail(c, err)
	default:
		body := gin.H{"valid": true, "user": who.user, "scopes_granted": who.scopes, "expires_at": nil}
		if !who.until.IsZero() {
			body["expires_at"] = event.FormatTime(who.until)
		}
		answer(c, http.StatusOK, body)
	}
}

// logout ends a session id and closes its connections.
func (a *API) logout(c *gin.Context) {
	who, err := a.authenticate(c.Request)
	if err == nil {
		err = a.visitors.dismiss(c.Request.Context(), who)
	}
	if err != nil {
		a.fail(c, err)
		return
	}
	a.connections.closeSession(who.key)
	answer(c, http.StatusOK, gin.H{"message": "the session has ended"})
}

// authenticate identifies the visitor by a session id or the token. Where no token is configured, any bearer token will do, since
// every client can get a session id there. Errors: [errUnauthorized]; guessError.
func (a *API) authenticate(r *http.Request) (visitor, error) {
	id := r.Header.Get("X-Session-ID")
	if id == "" {
		id = r.URL.Query().Get("session_id")
	}
	who, err := visitor{}, errUnauthorized
	if id != "" {
		who, err = a.visitors.find(r.Context(), id)
	}
	switch {
	case !errors.Is(err, errUnauthorized):
	case a.hasToken(r):
		who, err = visitor{key: "token", user: a.options.User(), scopes: scopes()}, nil
	case a.options.Token() != "" && r.Header.Get("Authorization") != "":
		err = a.guessed(r)
	}
	if err == nil {
		a.options.Admit(r)
	}
	return who, err
}

func (a *API) hasToken(r *http.Request) bool {
	if a.options.Token() != "" {
		return a.options.Authorized(r)
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(given) != ""
}

// keyVisitor is the key of the visitor in the context of a request.
const keyVisitor = "visitor"

// visitorOf returns who sent a request that [API.visitor] let through.
func visitorOf(c *gin.Context) visitor {
	who, _ := c.MustGet(keyVisitor).(visitor) // nothing else is set
	return who
}

// visitor requires the token, or a session id with a scope.
func (a *API) visitor(scope string, next gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		who, err := a.authenticate(c.Request)
		if err == nil {
			err = who.needs(scope)
		}
		if err != nil {
			a.fail(c, err)
			return
		}
		c.Set(keyVisitor, who)
		next(c)
	}
}
