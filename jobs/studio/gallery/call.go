package gallery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Limits of calls.
const (
	callTime   = 30 * time.Second
	lookUpTime = 5 * time.Second
	maxBody    = 10 << 20 // bytes, in each direction
	maxHeaders = 100
)

// Request is a call of an interface to its API.
type Request struct {
	Method string
	URL    string // absolute, or a path below the base URL
	Header [][2]string
	Body   []byte
}

// Response is the answer of the API. Redirects are not followed.
type Response struct {
	Status int
	Header [][2]string
	Body   []byte
}

// Permission is the result of [Host.Allow].
type Permission struct {
	Allowed bool
	// Private reports that the base URL leads to this machine or its network. If Allowed is false for that reason, ask the user
	// again with this warning.
	Private bool
}

// Allow lets an interface call URLs below a base URL; "" revokes that. If the host resolves to this machine or its network though
// its name does not show it, private must confirm that the user knows. Errors: kinds [fault.NotFound], [fault.Invalid].
func (h *Host) Allow(ctx context.Context, id, baseURL string, private bool) (p Permission, err error) {
	base := ""
	if baseURL != "" {
		u, err := parseBase(baseURL)
		if err != nil {
			return p, err
		}
		base, p.Private = u.String(), isLocalName(u.Hostname())
		if !p.Private {
			p.Private = resolvesLocally(ctx, u.Hostname())
			if p.Private && !private {
				return p, nil
			}
		}
		p.Allowed = true
	}
	return p, h.change(id, func(i *Item) error {
		i.Allowed, i.Private = base, p.Private
		return nil
	})
}

// resolvesLocally reports whether a name resolves to an address of this machine or its network. It returns false if the name cannot
// be resolved, because calls will fail then.
func resolvesLocally(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil && slices.ContainsFunc(all, func(a netip.Addr) bool { return isPrivate(unwrapped(a)) })
}

// Call makes a call for an interface, without cookies and only below the base URL that the user allowed. Errors: kinds
// [fault.NotFound], [fault.Denied] for a forbidden URL, [fault.Invalid] for an invalid request, [fault.Unavailable] if
// the API cannot be reached, [fault.Timeout] after 30 seconds.
func (h *Host) Call(ctx context.Context, id string, r Request) (Response, error) {
	i, err := h.log.Head(ctx, id)
	if err != nil {
		return Response{}, err
	}
	if i.Allowed == "" {
		return Response{}, fault.Errorf(fault.Denied, "this interface may not call its API: you have not allowed it")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	request, err := r.build(ctx, i.Allowed)
	if err != nil {
		return Response{}, err
	}
	transport := h.transport(i.Private)
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return Response{}, failed(ctx, err)
	}
	defer answer.Body.Close()                               //nolint:errcheck // read-only
	if answer.StatusCode == http.StatusSwitchingProtocols { // the body would be the connection itself, without a time limit
		return Response{}, fault.Errorf(fault.Unavailable, "the API switches to another protocol, which interfaces do not support")
	}
	return read(ctx, answer)
}

// failed returns the error of a call without an answer.
func failed(ctx context.Context, err error) error {
	var refusal *fault.Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Errorf(fault.Timeout, "the API did not answer within %v", callTime)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fault.Errorf(fault.Unavailable, "the API cannot be reached: %w", err)
}

// build returns the HTTP request to send.
func (r Request) build(ctx context.Context, allowed string) (*http.Request, error) {
	base, err := parseBase(allowed)
	if err != nil {
		return nil, err
	}
	target, err := within(base, r.URL)
	if err != nil {
		return nil, err
	}
	method := strings.ToUpper(r.Method)
	switch {
	case len(r.Body) > maxBody:
		return nil, fault.Errorf(fault.Invalid, "the body of the call is larger than 10 MiB")
	case len(r.Header) > maxHeaders:
		return nil, fault.Errorf(fault.Invalid, "the call has more than %d headers", maxHeaders)
	case slices.Contains([]string{"CONNECT", "TRACE", "TRACK"}, method):
		return nil, fault.Errorf(fault.Denied, "%s is not called for interfaces", method)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "this is not a valid request: %w", err)
	}
	for _, pair := range r.Header {
		if !isDropped(pair[0]) {
			request.Header.Add(pair[0], pair[1])
		}
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "copilot-portal")
	}
	return request, nil
}

// isDropped reports whether a header belongs to the connection, or to another identity than the interface's.
func isDropped(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(strings.TrimSpace(name), "_", "-")) // gateways treat both alike
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Host", "Origin", "Referer", "Cookie", "Set-Cookie", "Content-Length", "Expect", "Accept-Encoding", "Via", "Forwarded", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "Sec-") || strings.HasPrefix(name, "X-Forwarded-")
}

// transport returns a transport for one call. It uses no proxy, so that it dials the checked address.
func (h *Host) transport(private bool) *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: func(network, address string, _ syscall.RawConn) error {
		return h.mayDial(network, address, private)
	}}
	return &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 256 << 10}
}

// mayDial checks a resolved address. Error: kind [fault.Denied].
func (h *Host) mayDial(network, address string, private bool) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return fault.Errorf(fault.Denied, "only IP addresses can be called")
	}
	a := unwrapped(to.Addr())
	switch why := refused(a); {
	case why != "":
		return fault.Errorf(fault.Denied, "%s", why)
	case isPrivate(a) && !private:
		return fault.Errorf(fault.Denied, "the name now leads to this machine or its network; allow it again if that is intended")
	case h.options.Port != nil && int(to.Port()) == h.options.Port() && isOwn(a):
		return fault.Errorf(fault.Denied, "this is the portal itself, which interfaces may not call")
	}
	return nil
}

// read reads the answer.
func read(ctx context.Context, answer *http.Response) (Response, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return Response{}, failed(ctx, fmt.Errorf("its answer is incomplete: %w", err))
	case len(body) > maxBody:
		return Response{}, fault.Errorf(fault.Unavailable, "the answer of the API is larger than 10 MiB")
	}
	response := Response{Status: answer.StatusCode, Body: body}
	for name, values := range answer.Header {
		for _, value := range values {
			if !isDropped(name) {
				response.Header = append(response.Header, [2]string{name, value})
			}
		}
	}
	slices.SortStableFunc(response.Header, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return response, nil
}
