package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// httpsPort is the default port of hosts.
const httpsPort = "443"

// ParseHost parses a host that a sandbox may reach: a name or an address, with the prefix "*." for all names
// below a name, and a port, by default 443. It returns host:port in lower case.
func ParseHost(text string) (string, error) {
	host, port := strings.ToLower(text), httpsPort
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	} else if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		host = addr.String()
	}
	fault := fmt.Errorf("%q is not a host such as packages.example.org, *.example.org or example.org:8443", text)
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return "", fault
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() != "" || err != nil && !isName(strings.TrimPrefix(host, "*.")) {
		return "", fault
	}
	return net.JoinHostPort(host, port), nil
}

// isName reports whether a text is a host name.
func isName(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// HostOf returns the host:port of an http or https address, in the form of [ParseHost].
func HostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	default:
		port = httpsPort
	}
	return ParseHost(net.JoinHostPort(u.Hostname(), port))
}

// onLoopback returns the addresses at which a relay listens for a host:port on the host's loopback; none for
// other hosts.
func onLoopback(address string) []string {
	host, port, _ := net.SplitHostPort(address) // of ParseHost
	if host == "localhost" {
		return []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return []string{address}
	}
	return nil
}
