package bench_test

import (
	"context"
	"crypto/rand"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// startBare starts a Copilot CLI as the portal does and opens sessions on it
// with nothing but the SDK.
func startBare(tb testing.TB, model string) opener {
	tb.Helper()
	token := rand.Text()
	address := startCLI(tb, token)
	client := vendor.NewClient(&vendor.ClientOptions{
		Connection: vendor.URIConnection{URL: address, ConnectionToken: token}, Env: []string{},
	})
	require.NoError(tb, client.Start(tb.Context()))
	tb.Cleanup(client.ForceStop)
	dir := tb.TempDir()
	return func() *talk { return openBare(tb, client, model, dir) }
}

func startCLI(tb testing.TB, token string) (address string) {
	tb.Helper()
	path := filepath.Join(filepath.Dir(portaltest.Binary(tb)), "copilot")
	c := exec.Command(path, "--headless", "--no-auto-update", "--no-auto-login", "--port", "0")
	c.Env = append(portaltest.Environ(tb.TempDir()), "COPILOT_AUTO_UPDATE=false", "COPILOT_CONNECTION_TOKEN="+token)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, c.Start())
	tb.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	port := regexp.MustCompile(`listening on port (\d+)\r?\n`)
	var said []byte
	for buffer := make([]byte, 4096); ; {
		n, err := out.Read(buffer)
		said = append(said, buffer[:n]...)
		if m := port.FindSubmatch(said); m != nil {
			go io.Copy(io.Discard, out)
			return "127.0.0.1:" + string(m[1])
		}
		require.NoError(tb, err, "the Copilot CLI did not start: %s", said)
	}
}

func openBare(tb testing.TB, client *vendor.Client, model, dir string) *talk {
	tb.Helper()
	events := make(chan heard, room)
	ctx := context.Background()
	seen := map[string]bool{} // after long bursts the CLI tells some events again
	s, err := client.CreateSession(ctx, &vendor.SessionConfig{
		Model: "bench/" + modelID, WorkingDirectory: dir, Streaming: vendor.Bool(true),
		Providers: []vendor.NamedProviderConfig{{Name: "bench", Type: "openai", BaseURL: model}},
		Models:    []vendor.ProviderModelConfig{{ID: modelID, Provider: "bench", Name: modelID}},
		OnEvent: func(e vendor.SessionEvent) {
			if seen[e.ID] {
				return
			}
			seen[e.ID] = true
			switch d := e.Data.(type) {
			case *rpc.AssistantMessageDeltaData:
				events <- heard{delta, d.DeltaContent, time.Now()}
			case *rpc.SessionIdleData:
				events <- heard{idle, "", time.Now()}
			}
		},
		OnPermissionRequest: func(vendor.PermissionRequest, vendor.PermissionInvocation) (rpc.PermissionDecision, error) {
			return &rpc.PermissionDecisionApproveOnce{}, nil
		},
	})
	require.NoError(tb, err)
	return &talk{
		events: events,
		prompt: func(text string) {
			_, err := s.Send(ctx, vendor.MessageOptions{Prompt: text})
			require.NoError(tb, err)
		},
		cancel: func() { require.NoError(tb, s.Abort(ctx)) },
		close:  func() { require.NoError(tb, s.Disconnect()) },
	}
}
