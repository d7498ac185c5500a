package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// callbackPath is the default path of the plugin's address.
const callbackPath = "/tool-callback"

// maxResponse is the largest response of the plugin, in bytes.
const maxResponse = 4 << 20

// faultPrefix starts the reasons of failed callbacks; refusals have the words of the plugin's
// user.
const faultPrefix = "The tool call-back failed: "

// CallbackAddress parses the address of a plugin, "" for none. One without a path gets
// /tool-callback (spec/contracts/json-rpc-http.md, "Tool Callbacks"). Errors are of the kind
// [fault.Invalid].
func CallbackAddress(address string, remote bool) (string, error) {
	if address == "" {
		return "", nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fault.Errorf(fault.Invalid, "the callback address %.200q is not an http or https address", address)
	case !remote && !isLoopback(u.Hostname()):
		return "", fault.Errorf(fault.Invalid,
			"call-backs go to this machine only, not to %.200q; sidecar.callback_remote in the configuration allows others", u.Hostname())
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = callbackPath
	}
	return u.String(), nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// carrier carries callbacks: without proxies, and only to this machine, whatever a name resolves
// to, unless others are allowed.
func carrier(remote bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if !remote {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if host, _, err := net.SplitHostPort(address); err != nil || !isLoopback(host) {
				return errors.New("it is not on this machine")
			}
			return nil
		}
	}
	return &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
}

// post asks the plugin and waits for the answer until ctx ends.
func (a *API) post(ctx context.Context, address string, r callRequest) decision {
	response, err := a.ask(ctx, address, r)
	if err != nil {
		a.options.Log.Warn("callback failed", "session", r.SessionID, "tool", r.ToolName, "err", err)
		return decision{reason: faultPrefix + err.Error()}
	}
	if !*response.Success {
		return decision{reason: cmp.Or(response.UserMessage, response.Error, "The user refused it."), remember: response.Remember, scope: response.Scope}
	}
	return decision{ok: true, text: resultText(response.Result), remember: response.Remember, scope: response.Scope}
}

func (a *API) ask(ctx context.Context, address string, r callRequest) (callResponse, error) {
	body, err := jsonrpc.Encode(r)
	if err != nil {
		return callResponse{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return callResponse{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{
		Transport:     a.options.Carrier,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return callResponse{}, a.callbackError(ctx, err)
	}
	defer response.Body.Close() //nolint:errcheck // only read from
	if response.StatusCode != http.StatusOK {
		return callResponse{}, fmt.Errorf("the IDE answered with HTTP status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return callResponse{}, a.callbackError(ctx, err)
	}
	return decodeResponse(text)
}

// callbackError returns why there is no answer, without the address.
func (a *API) callbackError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the IDE did not answer within %v", a.options.Limit)
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("the IDE cannot be reached: %w", err)
}

func decodeResponse(text []byte) (callResponse, error) {
	var response callResponse
	switch {
	case len(text) > maxResponse:
		return response, fmt.Errorf("the IDE's answer is larger than %d bytes", maxResponse)
	case json.Unmarshal(text, &response) != nil:
		return response, errors.New("the IDE's answer is not the JSON that was expected")
	case response.Success == nil:
		return response, errors.New(`the IDE's answer has no "success"`)
	}
	return response, nil
}

// resultText returns a result for the model: a text as it is, anything else as JSON.
func resultText(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "Done."
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}
