package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hosts decides which names a Host header may contain: loopback, the addresses that the portal listens on,
// and the configured ones. Browsers reach this machine by further names (0.0.0.0, [::ffff:127.0.0.1]) for
// which they send no origin; those are not allowed.
type hosts struct {
	allowed []string // configured names; IPv6 addresses have no brackets
}

// hostName matches names as clients send them. Browsers send other ones in their ASCII form (xn--…).
var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)

// checkHosts reports hosts that no client sends, and removes the brackets of IPv6 addresses.
func (c *Config) checkHosts(fault func(format string, args ...any)) {
	c.Host = withoutBrackets(c.Host)
	for i, host := range c.AllowedHosts {
		host = withoutBrackets(strings.TrimSpace(host))
		addr, err := netip.ParseAddr(host)
		switch {
		case err == nil && !addr.IsUnspecified() && !addr.Is4In6() && addr.Zone() == "":
			c.AllowedHosts[i] = addr.String()
		case err != nil && hostName.MatchString(host):
			c.AllowedHosts[i] = host
		default:
			fault("allowed_hosts: no client names %q; write the name or address alone, without scheme, port and path, such as portal.example.org, and each name by itself, without *", WithoutSecrets(host))
		}
	}
}

// withoutBrackets returns an IPv6 address without brackets. Other hosts stay.
func withoutBrackets(host string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(inner); err == nil && addr.Is6() && host == "["+inner+"]" {
		return inner
	}
	return host
}

func newHosts(c Config) hosts {
	var h hosts
	for _, host := range append(slices.Clone(c.AllowedHosts), c.Host) {
		host = strings.Trim(host, "[]")
		if addr, err := netip.ParseAddr(host); host != "" && (err != nil || !addr.IsUnspecified()) {
			h.allowed = append(h.allowed, host)
		}
	}
	return h
}

// isAllowed reports whether a request names an allowed host. If the portal listens on all addresses, the
// address that the client connected to is allowed.
func (h hosts) isAllowed(r *http.Request) bool {
	host, ok := hostname(r.Host)
	switch {
	case !ok:
		return false
	case isTrusted(host):
		return true
	}
	return host == localAddress(r) || slices.ContainsFunc(h.allowed, func(one string) bool { return strings.EqualFold(one, host) })
}

// hostname returns the host of a Host header without port and brackets. It returns false unless the host is
// in the canonical form that browsers send.
func hostname(header string) (host string, ok bool) {
	u, err := url.Parse("http://" + header)
	if err != nil || u.Host != header || header == "" {
		return "", false
	}
	host = u.Hostname()
	bracketed := strings.HasPrefix(header, "[")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host, host != "" && !bracketed
	}
	return host, addr.String() == host && addr.Is6() == bracketed && !addr.Is4In6() && addr.Zone() == ""
}

// isTrusted reports whether a host is a name of loopback for which browsers always send the origin (Secure
// Contexts, "Is origin potentially trustworthy?").
func isTrusted(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && !addr.Is4In6() && addr.IsLoopback()
}

// localAddress returns the address that the client of a request connected to, or "" if unknown.
func localAddress(r *http.Request) string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return ""
	}
	return local.AddrPort().Addr().Unmap().WithZone("").String()
}
