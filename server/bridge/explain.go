package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
)

// explain says why there is no connection, and what to do.
func explain(ctx context.Context, to target, resp *http.Response, err error) error {
	var name *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case resp != nil:
		return explainAnswer(to, resp)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: is the portal running? Start it with: portal", to)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		return fmt.Errorf("there was no answer from %s within %v: is this the address of the portal?", to, dialTimeout)
	case errors.As(err, &name):
		return fmt.Errorf("there is no host %q: is %s the address of the portal?", name.Name, to)
	}
	return fmt.Errorf("no portal can be reached at %s: %w", to, err)
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// explainAnswer says why an answer is no connection.
func explainAnswer(to target, resp *http.Response) error {
	text, ok := refusal(resp)
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the portal at %s wants its token, and was given none or another: it goes with --token or PORTAL_TOKEN, or stands in the address that the portal has printed", to)
	case resp.StatusCode == http.StatusForbidden && ok:
		return fmt.Errorf("the portal at %s refuses: %q", to, text)
	case resp.StatusCode == http.StatusServiceUnavailable && ok:
		return fmt.Errorf("the portal at %s is not ready: %q", to, text)
	case resp.StatusCode == http.StatusNotFound && ok:
		return fmt.Errorf("the portal at %s has nothing for UIs there, and says %q: give the address of its page; or it is an older one", to, text)
	case resp.Header.Get("Location") != "":
		return fmt.Errorf("what answers at %s sends elsewhere: use the address %q, without what the portal adds", to, resp.Header.Get("Location"))
	}
	return fmt.Errorf("what answers at %s is no portal (it says %q): is the address right? A portal prints its own when it starts", to, resp.Status)
}

// refusal is what a portal says that it refuses something with; ok is false if
// none has said it.
func refusal(resp *http.Response) (text string, ok bool) {
	body, err := io.ReadAll(resp.Body) // the dialer has kept its beginning
	if err != nil {
		return "", false
	}
	var answer struct{ Error string }
	err = json.Unmarshal(body, &answer)
	return answer.Error, err == nil && answer.Error != ""
}
