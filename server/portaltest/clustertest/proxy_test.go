package clustertest_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// named starts a server that greets with its name and then repeats what it gets.
func named(t *testing.T, name string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.WriteString(conn, name+"\n")
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func start(t *testing.T, targets ...string) *clustertest.Proxy {
	t.Helper()
	p, err := clustertest.StartProxy("127.0.0.1:0", targets...)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *clustertest.Proxy) client {
	t.Helper()
	conn, err := net.Dial("tcp", p.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return client{conn, bufio.NewReader(conn)}
}

func (c client) line(t *testing.T) string {
	t.Helper()
	line, err := c.in.ReadString('\n')
	require.NoError(t, err)
	return line
}

func TestEachConnectionGoesToTheNextTargetThatAnswers(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	p := start(t, named(t, "one"), gone.Addr().String(), named(t, "two"))
	for range 3 {
		require.Equal(t, "one\n", dial(t, p).line(t))
		require.Equal(t, "two\n", dial(t, p).line(t))
	}
}

func TestDroppedConnectionsEndAndNewOnesPass(t *testing.T) {
	p := start(t, named(t, "one"))
	c := dial(t, p)
	c.line(t)
	require.Equal(t, 1, p.Drop())
	_, err := c.in.ReadByte()
	require.Error(t, err)
	require.Equal(t, "one\n", dial(t, p).line(t))
}

func TestSeveredProxyPassesNothingUntilItIsHealed(t *testing.T) {
	p := start(t, named(t, "one"))
	c := dial(t, p)
	c.line(t)
	p.Sever()
	_, err := c.in.ReadByte()
	require.Error(t, err)
	_, err = dial(t, p).in.ReadByte()
	require.Error(t, err)
	p.Heal()
	require.Equal(t, "one\n", dial(t, p).line(t))
}

func TestPausedProxyDeliversEverythingAfterwards(t *testing.T) {
	p := start(t, named(t, "one"))
	c := dial(t, p)
	c.line(t)
	p.Pause()
	fresh := dial(t, p)
	_, err := io.WriteString(c, "held back\n")
	require.NoError(t, err)
	for _, c := range []client{c, fresh} {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = c.in.ReadByte()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
	}
	p.Heal()
	require.Equal(t, "held back\n", c.line(t))
	require.Equal(t, "one\n", fresh.line(t))
}

func TestPausedProxyCanBeClosed(t *testing.T) {
	p := start(t, named(t, "one"))
	c := dial(t, p)
	c.line(t)
	p.Pause()
	_, err := io.WriteString(c, "never delivered\n")
	require.NoError(t, err)
	p.Close()
	_, err = c.in.ReadByte()
	require.Error(t, err)
}
