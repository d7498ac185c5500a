package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// certify writes a self-signed certificate with a serial number, and returns it.
func certify(t *testing.T, files server.TLS, serial int64, until time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "heron.example"}, DNSNames: []string{"heron.example", "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return cert
}

func tlsFiles(t *testing.T) server.TLS {
	t.Helper()
	dir := t.TempDir()
	return server.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

// trusting returns the TLS configuration of a client that trusts a certificate.
func trusting(cert *x509.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestPortalServesHTTPS(t *testing.T) {
	files := tlsFiles(t)
	cert := certify(t, files, 1, time.Now().Add(time.Hour))
	s := inside(t, func(c *server.Config) { c.TLS, c.Token, c.Host = files, "heron", "127.0.0.1" })
	address := serve(t, s)
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: trusting(cert), ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	get := func(target string) (status int, cookies []*http.Cookie, header http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+target, http.NoBody)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, 1, answer.ProtoMajor, "WebSockets need HTTP/1.1")
		return answer.StatusCode, answer.Cookies(), answer.Header
	}
	status, cookies, header := get("/?token=heron")
	require.Equal(t, http.StatusSeeOther, status)
	require.Len(t, cookies, 1)
	assert.True(t, cookies[0].Secure, "the cookie is never sent in plain text")
	assert.Empty(t, header.Get("Strict-Transport-Security"), "other ports of the host may serve plain HTTP")
	status, _, _ = get("/health")
	assert.Equal(t, http.StatusUnauthorized, status)

	dialer := websocket.Dialer{TLSClientConfig: trusting(cert)}
	socket, answer, err := dialer.DialContext(t.Context(), "wss://"+address+"/ui", http.Header{"Authorization": {"Bearer heron"}})
	require.NoError(t, err)
	defer socket.Close()
	defer answer.Body.Close()
	conn := contract.NewSocket(t, socket, "/ui")
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_version":"0"}}`)))
	_, text, err := conn.ReadMessage()
	require.NoError(t, err)
	assert.Contains(t, string(text), `"protocol_version":"0"`)

	plain := send(t, address, "GET / HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
	assert.Equal(t, http.StatusBadRequest, plain.status)
	assert.Contains(t, plain.body, "use https://")
}

func TestRenewedCertificateNeedsNoRestart(t *testing.T) {
	files := tlsFiles(t)
	until := time.Now().Add(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		written := time.Now()
		renew := func(serial int64) { // files that are written in quick succession may have the same time
			certify(t, files, serial, until)
			written = written.Add(time.Minute)
			require.NoError(t, os.Chtimes(files.Cert, written, written))
		}
		renew(1)
		get := server.CertificateOf(files)
		serial := func() int64 {
			time.Sleep(server.Recheck)
			pair, err := get(nil)
			require.NoError(t, err)
			return pair.Leaf.SerialNumber.Int64()
		}
		assert.Equal(t, int64(1), serial())
		renew(2)
		assert.Equal(t, int64(2), serial())
		require.NoError(t, os.WriteFile(files.Key, []byte("half of a key"), 0o600))
		require.NoError(t, os.Remove(files.Cert))
		assert.Equal(t, int64(2), serial(), "the previous certificate stays")
		renew(3)
		assert.Equal(t, int64(3), serial())
	})
}

func TestErrorsOfCertificatesSayWhatToDo(t *testing.T) {
	files, other, expired := tlsFiles(t), tlsFiles(t), tlsFiles(t)
	certify(t, files, 1, time.Now().Add(time.Hour))
	certify(t, other, 2, time.Now().Add(time.Hour))
	certify(t, expired, 3, time.Now().Add(-time.Minute))
	for name, tc := range map[string]struct {
		tls  server.TLS
		want string
	}{
		"no file":       {server.TLS{Cert: "/nowhere.pem", Key: files.Key}, "name a file that the portal can read"},
		"another key":   {server.TLS{Cert: files.Cert, Key: other.Key}, "does not belong to"},
		"the two mixed": {server.TLS{Cert: files.Key, Key: files.Cert}, "must be a certificate and its private key in PEM format"},
		"expired":       {expired, "renew it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := inside(t, func(c *server.Config) { c.TLS = tc.tls })
			err := s.Listen(t.Context())
			require.ErrorContains(t, err, "tls: ")
			require.ErrorContains(t, err, tc.want)
			_, err = load(t, "", []string{"PORTAL_TLS_CERT=" + tc.tls.Cert, "PORTAL_TLS_KEY=" + tc.tls.Key})
			require.NoError(t, err, "other commands do not need it")
		})
	}
	_, err := load(t, "tls: {cert: "+files.Cert+"}\n", nil)
	require.ErrorContains(t, err, "tls: set both cert and key")
	c, err := load(t, "tls: {cert: "+files.Cert+", key: "+files.Key+"}\n", nil)
	require.NoError(t, err)
	assert.Equal(t, files, c.TLS)
	_, err = load(t, "tls: {cert: , key: }\n", nil)
	require.ErrorContains(t, err, "tls.cert has no value", "a missing restriction is not a default")
}

func TestOwnRequestsCheckTheCertificate(t *testing.T) {
	files, other := tlsFiles(t), tlsFiles(t)
	certify(t, files, 1, time.Now().Add(time.Hour))
	certify(t, other, 2, time.Now().Add(time.Hour))
	address := serve(t, inside(t, func(c *server.Config) { c.TLS = files }))
	for _, tc := range []struct {
		configured server.TLS
		want       string
	}{{files, ""}, {other, "another certificate"}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/health", http.NoBody)
		require.NoError(t, err)
		answer, err := (&http.Client{Transport: tc.configured.OwnTransport()}).Do(r)
		if tc.want != "" {
			require.ErrorContains(t, err, tc.want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
}
