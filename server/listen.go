package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// listeners are the sockets of one portal, all on the same port.
type listeners []net.Listener

// listen opens the port. With TLS, the certificate must be usable.
func (c *Config) listen(ctx context.Context) (listeners, error) {
	if c.TLS.isOn() {
		if _, err := c.TLS.load(); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
	}
	return listen(ctx, c.Host, c.Port)
}

// listen opens host:port. "localhost" means both loopback addresses, because clients may use either. Port 0
// means any free port.
func listen(ctx context.Context, host string, port int) (listeners, error) {
	var lc net.ListenConfig
	if host != "localhost" {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return nil, unusable(host, port, err)
		}
		return listeners{l}, nil
	}
	const tries = 10 // to find a port that is free on both
	for try := 1; ; try++ {
		ls, err := listenBoth(ctx, lc, port)
		if err == nil {
			return ls, nil
		}
		if port != 0 || try == tries {
			return nil, unusable(host, port, err)
		}
	}
}

func listenBoth(ctx context.Context, lc net.ListenConfig, port int) (listeners, error) {
	v4, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	ls := listeners{v4}
	v6, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(ls.port())))
	switch {
	case err == nil:
		return append(ls, v6), nil
	case isInUse(err):
		_ = v4.Close()
		return nil, err
	}
	return ls, nil // this machine has no IPv6
}

func unusable(host string, port int, err error) error {
	if isInUse(err) {
		other := port + 1
		if other > 65535 {
			other = port - 1
		}
		return fmt.Errorf("port %d is in use: stop the program that uses it, or choose another port with `portal %d`, or any free port with `portal 0`", port, other)
	}
	return fmt.Errorf("cannot listen on %s port %d: %w", host, port, err)
}

// isInUse reports whether the address of a listener is taken. Windows has an error of its own.
func isInUse(err error) bool {
	const windows = syscall.Errno(10048) // WSAEADDRINUSE
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windows)
}

func (l listeners) port() int {
	if a, ok := l[0].Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// url returns an address at which this machine can reach the listeners.
func (l listeners) url(c Config, token string) string {
	u := c.ownURL(l.port(), "/")
	if token != "" {
		u.RawQuery = url.Values{"token": {token}}.Encode()
	}
	return u.String()
}

func (l listeners) close() {
	for _, one := range l {
		_ = one.Close() // nothing was served yet
	}
}

// ownURL returns the address of a path, below the base path, on a portal that listens on a port of this machine.
func (c *Config) ownURL(port int, path string) url.URL {
	host := c.Host
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && addr.IsUnspecified():
		host = "localhost"
	case err == nil:
		host = addr.Unmap().String() // the guard requires the unmapped form
	}
	return c.urlAt(host, port, path)
}

// urlAt returns the address of a path, below the base path, on a host.
func (c *Config) urlAt(host string, port int, path string) url.URL {
	scheme := "http"
	if c.TLS.isOn() {
		scheme = "https"
	}
	return url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: c.BasePath + path}
}

// isLoopback reports whether a host name or address can only mean this machine.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
