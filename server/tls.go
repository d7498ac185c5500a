package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// TLS names the files of the certificate with which the portal serves HTTPS. Both are "" for plain HTTP.
type TLS struct {
	Cert string `mapstructure:"cert"` // PEM, with intermediate certificates after the portal's own
	Key  string `mapstructure:"key"`  // PEM
}

func (t TLS) isOn() bool { return t.Cert != "" }

// check reports a certificate without a key, and the reverse. [Config.listen] reads the files, which other commands do not need.
func (t TLS) check(fault func(format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		fault("tls: set both cert and key, the files of a certificate and of its private key, or neither")
	}
}

// examineCertificate checks whether the portal can serve HTTPS.
func examineCertificate(t TLS) Finding {
	pair, err := t.load()
	if err != nil {
		return problemFinding("The portal does not start without it; to serve plain HTTP, remove `tls`.", "%v", err)
	}
	return okFinding("%s is valid until %s", t.Cert, pair.Leaf.NotAfter.Format(time.DateOnly))
}

// load reads the certificate. The error says which file to change.
func (t TLS) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: name a file that the portal can read", err)
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return nil, fmt.Errorf("the key in %s does not belong to the first certificate in %s", t.Key, t.Cert)
	case err != nil:
		return nil, fmt.Errorf("%s and %s must be a certificate and its private key in PEM format, without a password: %w", t.Cert, t.Key, err)
	case time.Now().After(pair.Leaf.NotAfter):
		return nil, fmt.Errorf("the certificate in %s expired on %s: renew it", t.Cert, pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &pair, nil
}

// recheck is how often the files of a certificate are looked at, at most.
const recheck = time.Second

// certificate is the current certificate. It follows its files, so that a renewed one needs no restart. It is safe for
// concurrent use.
type certificate struct {
	files TLS
	log   *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	stamp   [2]fileStamp
	checked time.Time
}

type fileStamp struct {
	changed time.Time
	size    int64
}

// get returns the certificate for a connection. If changed files cannot be used, the previous certificate stays.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pair != nil && time.Since(c.checked) < recheck {
		return c.pair, nil
	}
	c.checked = time.Now()
	stamp := [2]fileStamp{stampOf(c.files.Cert), stampOf(c.files.Key)}
	if c.pair != nil && stamp == c.stamp {
		return c.pair, nil
	}
	c.stamp = stamp
	pair, err := c.files.load()
	switch {
	case err == nil:
		c.pair = pair
	case c.pair == nil:
		return nil, err
	default:
		c.log.Warn("the changed certificate cannot be used; the previous one stays in use", "err", err)
	}
	return c.pair, nil
}

func stampOf(name string) fileStamp {
	info, err := os.Stat(name)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size()}
}

// tlsListener serves TLS on the connections of a listener. The handshake takes place when net/http reads the first request,
// so its limits apply. net/http does not know about it, because the portal inspects requests after decryption.
type tlsListener struct {
	net.Listener

	config *tls.Config
}

func newTLSListener(l net.Listener, files TLS, log *slog.Logger) net.Listener {
	c := &certificate{files: files, log: log}
	return tlsListener{l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"http/1.1"}}}
}

// Accept waits for the next connection.
func (l tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tlsConn{tls.Server(c, l.config)}, nil
}

// tlsConn is a connection with TLS.
type tlsConn struct{ *tls.Conn }

// Read decrypts. To a client that speaks plain HTTP it says what to do.
func (c tlsConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if other, ok := errors.AsType[tls.RecordHeaderError](err); ok && other.Conn != nil && isHTTP(string(other.RecordHeader[:])) {
		const text = "This portal serves HTTPS only: use https:// in its address.\n"
		_ = other.Conn.SetWriteDeadline(time.Now().Add(time.Second)) // fails as writing does
		_, _ = io.WriteString(other.Conn, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"+text)
	}
	return n, err
}

// isHTTP reports whether a connection begins like a request without TLS.
func isHTTP(start string) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO"} {
		if start == method {
			return true
		}
	}
	return false
}

// abort closes a connection at once, without the farewell of TLS, for which a client could make the portal wait.
func abort(c net.Conn) {
	if inner, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = inner.NetConn()
	}
	_ = c.Close() // nobody waits for it
}

// ownTransport returns a transport for requests to a portal with this configuration on this machine. Instead of a name, it
// checks that the portal has the configured certificate, which seldom is one for localhost.
func (t TLS) ownTransport() *http.Transport {
	transport := &http.Transport{DisableKeepAlives: true} // no proxy
	if t.isOn() {
		transport.TLSClientConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the certificate instead
			VerifyConnection:   t.verifyOwn,
		}
	}
	return transport
}

func (t TLS) verifyOwn(state tls.ConnectionState) error {
	pair, err := t.load()
	if err != nil {
		return err
	}
	if !pair.Leaf.Equal(first(state.PeerCertificates)) {
		return errors.New("the program on this port has another certificate than tls.cert")
	}
	return nil
}

func first(list []*x509.Certificate) *x509.Certificate {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
