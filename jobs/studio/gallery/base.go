package gallery

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/plain"
)

// parseBase parses a base URL: http or https, a host, optionally a port and a path. Error: kind [fault.Invalid].
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fault.Errorf(fault.Invalid, "a base URL starts with http:// or https:// and a host")
	case u.User != nil:
		return nil, fault.Errorf(fault.Invalid, "a base URL must not contain a user name or password")
	case u.RawQuery != "", u.Fragment != "", !clean(u):
		return nil, fault.Errorf(fault.Invalid, "a base URL must end with a plain path")
	case len(text) > 2000:
		return nil, fault.Errorf(fault.Invalid, "the base URL is too long")
	}
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// clean reports whether a path is unambiguous: however a server reads it, it stays below its prefix.
func clean(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.Contains(u.Path, `\`) || strings.Contains(escaped, "%2e") || strings.Contains(escaped, "%25") || strings.ContainsRune(u.Path, 0) {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") { // decoded, so %2f counts, too
		if name, _, _ := strings.Cut(part, ";"); name == ".." || name == "." {
			return false
		}
	}
	return true
}

// within returns the URL of a call, which must be below the base. A path is appended to the base, unless it has the base's path
// already: generated code takes that from a description whose server is relative. Error: kind [fault.Denied].
func within(base *url.URL, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fault.Errorf(fault.Denied, "this URL cannot be called")
	}
	if u.Scheme == "" && u.Host == "" && u.User == nil && u.Opaque == "" {
		behind := *base
		behind.RawQuery = u.RawQuery
		switch {
		case u.Path == "":
		case isBelow(base, u):
			behind.Path, behind.RawPath = u.Path, u.RawPath
		default:
			behind.Path, behind.RawPath = base.Path+"/"+strings.TrimLeft(u.Path, "/"), ""
			if u.RawPath != "" {
				behind.RawPath = base.EscapedPath() + "/" + strings.TrimLeft(u.RawPath, "/")
			}
		}
		u = &behind
	}
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Scheme != base.Scheme, !strings.EqualFold(u.Hostname(), base.Hostname()), portOf(u) != portOf(base), u.User != nil, u.Opaque != "":
		return nil, fault.Errorf(fault.Denied, "this interface may call only %s, not %s", base, plain.Cut(text, 200))
	case !clean(u), !isBelow(base, u):
		return nil, fault.Errorf(fault.Denied, "this interface may call only URLs below %s, not %s", base, plain.Cut(text, 200))
	}
	return u, nil
}

// isBelow reports whether a path is that of the base or below it.
func isBelow(base, u *url.URL) bool {
	return u.Path == base.Path || strings.HasPrefix(u.Path, base.Path+"/")
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// isPrivate reports whether an address belongs to this machine, its network or the inside of a provider's network (RFC 6598).
func isPrivate(a netip.Addr) bool {
	return a.IsLoopback() || a.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// refused returns why an address is never called, or "".
func refused(a netip.Addr) string {
	switch {
	case slices.Contains([]string{"168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"}, a.String()):
		return "addresses of cloud metadata services are never called"
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast():
		return "link-local addresses, which include cloud metadata services, are never called"
	case a.IsMulticast(), a.IsUnspecified(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}), !a.IsValid():
		return "this is not the address of a single machine"
	}
	return ""
}

// unwrapped unwraps an IPv4 address.
func unwrapped(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	for _, wrapped := range []string{"64:ff9b::/96", "::/96"} {
		if a.Is6() && netip.MustParsePrefix(wrapped).Contains(a) && !a.IsLoopback() && !a.IsUnspecified() {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[12:]))
		}
	}
	return a
}

// isOwn reports whether an address belongs to this machine.
func isOwn(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true // be safe: it may be the portal
	}
	return slices.ContainsFunc(all, func(own net.Addr) bool {
		prefix, err := netip.ParsePrefix(own.String())
		return err == nil && prefix.Addr().Unmap() == a
	})
}

// isLocalName reports whether a host name shows that the host is this machine or in its network.
func isLocalName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && isPrivate(unwrapped(a))
}
