package sdk_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// connected returns both ends of a connection.
func connected(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	near, err = net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	t.Cleanup(func() { near.Close() })
	far, err = l.AcceptTCP()
	require.NoError(t, err)
	t.Cleanup(func() { far.Close() })
	return near, far
}

func TestDelayedOutputArrivesAtOnce(t *testing.T) {
	for name, read := range map[string]func(ack *sdk.QuickAck, readByte func()){
		"events": func(ack *sdk.QuickAck, readByte func()) {
			for range 2 {
				readByte()
				ack.Soon()
			}
		},
		"a reply": func(ack *sdk.QuickAck, readByte func()) {
			defer ack.Await()()
			readByte()
			readByte()
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := connected(t)
			require.NoError(t, far.SetNoDelay(false)) // as the CLI does
			ack := sdk.NewQuickAck(near.RemoteAddr().String())
			require.NotNil(t, ack)
			t.Cleanup(ack.Close)
			took := late
			one := make([]byte, 1)
			for n := 0; n < 11 || n < 1000 && took >= 20*time.Millisecond; n++ { // a connection used for requests acknowledges late
				_, err := near.Write(one)
				require.NoError(t, err)
				_, err = io.ReadFull(far, one)
				require.NoError(t, err)
				begin := time.Now()
				for range 2 { // the second write waits for the acknowledgement of the first
					_, err = far.Write(one)
					require.NoError(t, err)
				}
				read(ack, func() {
					_, err := io.ReadFull(near, one)
					require.NoError(t, err)
				})
				if n >= 10 {
					took = min(took, time.Since(begin))
				}
			}
			assert.Less(t, took, 20*time.Millisecond, "all would take 40 ms, and most take longer on a busy machine")
		})
	}
}

func TestMissingConnectionIsNotAcknowledged(t *testing.T) {
	near, _ := connected(t)
	peer := near.RemoteAddr().String()
	for name, address := range map[string]string{"another address": "127.0.0.2" + peer[len("127.0.0.1"):], "no address": "?"} {
		t.Run(name, func(t *testing.T) {
			ack := sdk.NewQuickAck(address)
			assert.Nil(t, ack)
			ack.Soon()
			ack.Close()
		})
	}
}

func TestSecondDescriptorIsClosed(t *testing.T) {
	near, far := connected(t)
	ack := sdk.NewQuickAck(near.RemoteAddr().String())
	require.NotNil(t, ack)
	require.NoError(t, near.Close())
	ack.Close()
	ack.Close()
	ack.Soon()
	require.NoError(t, far.SetReadDeadline(time.Now().Add(late)))
	_, err := far.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the peer sees the end")
}

func TestEndedAgentLeavesNoDescriptor(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	ack := sdk.NewQuickAck(a.Address())
	require.NotNil(t, ack)
	ack.Close()
	stop(t, a)
	assert.Nil(t, sdk.NewQuickAck(a.Address()))
}
