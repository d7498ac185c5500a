package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hosts are what a Host header may name: loopback, the addresses that the portal
// listens on, and what the configuration allows. Browsers reach this machine by more
// names (0.0.0.0, [::ffff:127.0.0.1]), for which they tell of no origin.
type hosts struct {
	allowed []string // of the configuration; an IPv6 address has no brackets
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

// isAllowed tells whether a request names a host that is served here. Where the portal
// listens on all addresses, the one that the client connected to is.
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

// hostname is the host of a Host header, without port and brackets; ok is false for
// what is not written as browsers write it, which is the canonical form.
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

// isTrusted tells whether a host is loopback by one of the names for which browsers
// always tell where a request comes from (Secure Contexts, "Is origin potentially
// trustworthy?").
func isTrusted(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && !addr.Is4In6() && addr.IsLoopback()
}

// localAddress is the address that the client of a request connected to, "" if
// unknown.
func localAddress(r *http.Request) string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return ""
	}
	return local.AddrPort().Addr().Unmap().WithZone("").String()
}
