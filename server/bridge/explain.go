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

// explain says why connecting failed, and what to do.
func explain(ctx context.Context, to target, resp *http.Response, err error) error {
	var name *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case resp != nil:
		return explainAnswer(to, resp)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, windowsRefused):
		return fmt.Errorf("nothing listens at %s: start the portal with: portal", to)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		return fmt.Errorf("%s did not answer within %v: check the address of the portal", to, dialTimeout)
	case errors.As(err, &name):
		return fmt.Errorf("unknown host %q: check the address of the portal, %s", name.Name, to)
	}
	return fmt.Errorf("cannot connect to a portal at %s: %w", to, err)
}

// windowsRefused is what Windows reports instead of ECONNREFUSED (WSAECONNREFUSED).
const windowsRefused = syscall.Errno(10061)

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// explainAnswer says why a response did not open a connection.
func explainAnswer(to target, resp *http.Response) error {
	text, ok := refusal(resp)
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the portal at %s requires its token: give it with --token or PORTAL_TOKEN, or use the address that the portal printed", to)
	case resp.StatusCode == http.StatusServiceUnavailable && ok:
		return fmt.Errorf("the portal at %s is not ready: %q", to, text)
	case resp.StatusCode == http.StatusNotFound && ok:
		return fmt.Errorf("the portal at %s does not serve this (%q): use the address of its page, or update the portal", to, text)
	case resp.StatusCode >= http.StatusBadRequest && ok:
		return fmt.Errorf("the portal at %s refused the connection: %q", to, text)
	case resp.Header.Get("Location") != "":
		return fmt.Errorf("the server at %s redirects: use the address %q without the part that the portal appends", to, resp.Header.Get("Location"))
	}
	return fmt.Errorf("the server at %s is not a portal (it answered %q): use the address that the portal printed at startup", to, resp.Status)
}

// refusal returns the error text of a portal's response. It returns false if the response does not come from
// a portal.
func refusal(resp *http.Response) (text string, ok bool) {
	body, err := io.ReadAll(resp.Body) // the dialer keeps the beginning of the body
	if err != nil {
		return "", false
	}
	var answer struct{ Error string }
	err = json.Unmarshal(body, &answer)
	return answer.Error, err == nil && answer.Error != ""
}
