package permission

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// hostPattern matches a host by name or, with the prefix "*.", all hosts below the name; with a port, only
// that port.
type hostPattern struct {
	host, port string
	below      bool
}

func parseHost(body string) (pattern, error) {
	name, below := strings.CutPrefix(strings.ToLower(body), "*.")
	u, err := url.Parse("//" + name)
	if err != nil || u.Host != name || u.Hostname() == "" || strings.ContainsAny(name, "*?() \\") {
		return nil, fault.Errorf(fault.Invalid, "%q is not a host: use a name or an address, optionally with a port, such as example.org, *.example.org or localhost:3000", body)
	}
	return hostPattern{hostName(u), u.Port(), below}, nil
}

// hostName returns the name in lower case, without a trailing dot.
func hostName(u *url.URL) string { return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) }

func portOf(u *url.URL) string {
	switch u.Scheme {
	case "http":
		return cmp.Or(u.Port(), "80")
	case "https":
		return cmp.Or(u.Port(), "443")
	case "tcp", "udp": // of a redirection; see [reading.file]
		return cmp.Or(u.Port(), strings.Trim(u.Path, "/"))
	}
	return u.Port()
}

func (p hostPattern) matches(n Need, _ Decision) bool {
	u, err := url.Parse(n.Target)
	if err != nil || u.Host == "" || p.port != "" && p.port != portOf(u) {
		return false
	}
	if p.below {
		return strings.HasSuffix(hostName(u), "."+p.host)
	}
	return hostName(u) == p.host
}

func (p hostPattern) rank() int {
	rank := 2 * strings.Count(p.host, ".")
	if p.port != "" {
		rank++
	}
	if p.below {
		return rank
	}
	return exactRank + rank
}
