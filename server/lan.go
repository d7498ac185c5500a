package server

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
)

// checkLAN makes the portal listen on all addresses if lan is set.
func (c *Config) checkLAN(fault func(format string, args ...any)) {
	switch {
	case !c.LAN:
	case c.Host == "localhost" || c.Host == "":
		c.Host = ""
	case !slices.Contains([]string{"0.0.0.0", "::"}, c.Host):
		fault("lan: it listens on all addresses of this machine; also remove host: %s", c.Host)
	}
}

// LANURLs returns the addresses at which other devices can open the portal, the best one first. They contain a generated
// token. A portal with TLS has the names in allowed_hosts, for which its certificate is. LANURLs is valid after Listen.
func (s *Server) LANURLs(ctx context.Context) (list []string) {
	hosts := lanAddresses(ctx)
	if len(s.config.AllowedHosts) > 0 && s.config.TLS.isOn() {
		hosts = s.config.AllowedHosts
	}
	for _, host := range hosts {
		u := s.config.urlAt(host, s.Port(), "/")
		if s.generatedToken != "" {
			u.RawQuery = url.Values{"token": {s.generatedToken}}.Encode()
		}
		list = append(list, u.String())
	}
	return list
}

// HasConfiguredToken reports whether clients need a token that LANURLs does not contain. It is valid after Listen.
func (s *Server) HasConfiguredToken() bool { return s.config.Token != "" && s.generatedToken == "" }

// IsEncrypted reports whether the portal serves HTTPS.
func (s *Server) IsEncrypted() bool { return s.config.TLS.isOn() }

// lanAddresses returns the IPv4 addresses of this machine beyond loopback. That of the default route is the first.
func lanAddresses(ctx context.Context) (list []string) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, one := range all {
		prefix, err := netip.ParsePrefix(one.String())
		if addr := prefix.Addr(); err == nil && addr.Is4() && addr.IsGlobalUnicast() {
			list = append(list, addr.String())
		}
	}
	if best := routeAddress(ctx); slices.Contains(list, best) {
		list = slices.DeleteFunc(list, func(one string) bool { return one == best })
		list = slices.Insert(list, 0, best)
	}
	return list
}

// routeAddress returns the address from which this machine would reach the internet; "" without a route. It sends nothing.
func routeAddress(ctx context.Context) string {
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp4", "192.0.2.1:9")
	if err != nil {
		return ""
	}
	defer c.Close() //nolint:errcheck // nothing was sent
	if local, ok := c.LocalAddr().(*net.UDPAddr); ok {
		return local.IP.String()
	}
	return ""
}
