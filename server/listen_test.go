package server_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func address(t *testing.T, l net.Listener) *net.TCPAddr {
	t.Helper()
	a, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return a
}

// occupy listens on an address until the end of the test and returns the port.
func occupy(t *testing.T, addr string) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil && strings.Contains(addr, "::1") {
		t.Skip("this machine has no IPv6")
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return address(t, l).Port
}

func TestLocalhostMeansBothLoopbackAddressesOnOnePort(t *testing.T) {
	occupy(t, "[::1]:0")
	for range 20 {
		ls, err := server.Listen(t.Context(), "localhost", 0)
		require.NoError(t, err)
		require.Len(t, ls, 2)
		assert.Equal(t, "127.0.0.1", address(t, ls[0]).IP.String())
		assert.Equal(t, "::1", address(t, ls[1]).IP.String())
		assert.NotZero(t, address(t, ls[0]).Port)
		assert.Equal(t, address(t, ls[0]).Port, address(t, ls[1]).Port)
		for _, l := range ls {
			require.NoError(t, l.Close())
		}
	}
}

func TestPortInUseHasHint(t *testing.T) {
	for name, addr := range map[string]string{
		"on the IPv4 address":   "127.0.0.1:0",
		"on the IPv6 address":   "[::1]:0",
		"on all addresses":      ":0",
		"on all IPv4 addresses": "0.0.0.0:0",
	} {
		t.Run(name, func(t *testing.T) {
			port := occupy(t, addr)
			_, err := server.Listen(t.Context(), "localhost", port)
			require.EqualError(t, err, "port "+strconv.Itoa(port)+" is in use: stop the program that uses it, or choose another port with `portal "+
				strconv.Itoa(port+1)+"`, or any free port with `portal 0`")
		})
	}
	t.Run("the last port has no successor", func(t *testing.T) {
		var lc net.ListenConfig
		if l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:65535"); err == nil {
			defer l.Close()
		}
		_, err := server.Listen(t.Context(), "localhost", 65535)
		require.ErrorContains(t, err, "`portal 65534`")
	})
}

func TestPortInUseIsRecognizedOnEverySystem(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EADDRINUSE, 10048} { // the second one is of Windows
		assert.True(t, server.IsInUse(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", errno)}), errno)
	}
	assert.False(t, server.IsInUse(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)}))
}

func TestFailedStartClosesEverything(t *testing.T) {
	var err error
	for range 3 { // another program may use the port on 127.0.0.1
		port := occupy(t, "[::1]:0")
		_, err = server.Listen(t.Context(), "localhost", port)
		require.ErrorContains(t, err, "in use")
		var ls []net.Listener
		if ls, err = server.Listen(t.Context(), "127.0.0.1", port); err == nil {
			require.NoError(t, ls[0].Close())
			return
		}
	}
	require.NoError(t, err)
}

func TestListenErrorNamesTheHost(t *testing.T) {
	for _, host := range []string{"192.0.2.1", "not a host"} {
		_, err := server.Listen(t.Context(), host, 0)
		require.ErrorContains(t, err, host)
	}
	_, err := server.Listen(t.Context(), "localhost", 70000)
	require.ErrorContains(t, err, "70000")
}

func TestPrintedURLWorks(t *testing.T) {
	for host, want := range map[string]string{
		"localhost":        `^http://localhost:\d+/$`,
		"127.0.0.1":        `^http://127\.0\.0\.1:\d+/$`,
		"::1":              `^http://\[::1\]:\d+/$`,
		"":                 `^http://localhost:\d+/\?token=\w+$`,
		"0.0.0.0":          `^http://localhost:\d+/\?token=\w+$`,
		"::ffff:127.0.0.1": `^http://127\.0\.0\.1:\d+/$`,
		"::":               `^http://localhost:\d+/\?token=\w+$`,
	} {
		t.Run(host, func(t *testing.T) {
			s := inside(t, func(c *server.Config) { c.Host = host })
			serve(t, s)
			assert.Regexp(t, want, s.URL())
			u, err := url.Parse(s.URL())
			require.NoError(t, err)
			r := send(t, u.Host, "GET "+u.RequestURI()+" HTTP/1.1\r\nHost: "+u.Host+"\r\n\r\n")
			assert.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, r.status)
		})
	}
}

func TestStoppedPortalLeavesNothingOpen(t *testing.T) {
	var err error
	for range 3 { // another program may get the port of one
		s := inside(t, nil)
		require.NoError(t, s.Listen(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // before the portal serves
		require.NoError(t, s.Serve(ctx))
		var ls []net.Listener
		if ls, err = server.Listen(t.Context(), "localhost", s.Port()); err != nil {
			continue
		}
		for _, l := range ls {
			require.NoError(t, l.Close())
		}
		return
	}
	require.NoError(t, err)
}

func TestPortalThatCannotListenLeavesNoFiles(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	port := occupy(t, "127.0.0.1:0")
	s := inside(t, func(c *server.Config) {
		c.Host, c.Port = "127.0.0.1", port
		c.Agents = []server.Agent{{Name: "other", Command: noAgent, Protocol: "acp"}}
	})
	require.Error(t, s.Listen(t.Context()))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}
