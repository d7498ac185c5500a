package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/server/portaltest"
)

// openEditor starts `portal acp` with the model as one of its own, and opens sessions on it as an editor does.
func openEditor(tb testing.TB, model string) opener {
	tb.Helper()
	dir := tb.TempDir()
	config := filepath.Join(dir, "config.yaml")
	require.NoError(tb, os.WriteFile(config, fmt.Appendf(nil, "model: bench/%s\nproviders: [{name: bench, base_url: %q, models: [%[1]s]}]\n", modelID, model), 0o600))
	c := exec.Command(portaltest.Binary(tb), "acp", "--config", config)
	c.Env = portaltest.Environ(dir)
	in, err := c.StdinPipe()
	require.NoError(tb, err)
	out, err := c.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, c.Start())
	ctx := context.Background()
	talks := map[string]*talk{}
	peer := jsonrpc.New(jsonrpc.NewLines(out, in, jsonrpc.LineOptions{}), jsonrpc.Methods{"session/update": {InOrder: true, Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) {
		at := time.Now()
		var p struct {
			SessionID string
			Update    struct {
				Kind    string `json:"sessionUpdate"`
				Content any    `json:"content"`
			}
		}
		err := r.Decode(&p)
		if content, ok := p.Update.Content.(map[string]any); ok && p.Update.Kind == "agent_message_chunk" {
			text, _ := content["text"].(string)
			talks[p.SessionID].events <- heard{delta, text, at}
		}
		return nil, err
	}}}, jsonrpc.Options{})
	go func() { _ = peer.Run(ctx) }()
	tb.Cleanup(func() {
		peer.Close()
		_ = c.Wait()
	})
	type object = map[string]any
	require.NoError(tb, peer.Call(ctx, "initialize", object{"protocolVersion": 1}, nil))
	return func() *talk {
		t := &talk{events: make(chan heard, room)}
		var opened struct{ SessionID string }
		require.NoError(tb, peer.Call(ctx, "session/new", object{"cwd": dir, "mcpServers": []any{}}, &opened))
		session := object{"sessionId": opened.SessionID}
		talks[opened.SessionID] = t // no text comes before a prompt
		t.prompt = func(text string) {
			go func() {
				_ = peer.Call(ctx, "session/prompt", object{"sessionId": opened.SessionID, "prompt": []any{object{"type": "text", "text": text}}}, nil)
				t.events <- heard{kind: idle, at: time.Now()}
			}()
		}
		t.cancel = func() { _ = peer.Notify(ctx, "session/cancel", session) }
		t.close = func() { _ = peer.Call(ctx, "session/close", session, nil) }
		return t
	}
}

// BenchmarkEditor measures how much later an editor has the first piece of an answer than one who uses the SDK alone, and
// the others, which come in frames of 16 ms.
func BenchmarkEditor(b *testing.B) {
	once(b, func() {
		model := startModel(b)
		editor, bare := openEditor(b, model), startBare(b, model)
		var ours, theirs struct{ first, p50 []time.Duration }
		measure := func(open opener, first, p50 *[]time.Duration) {
			open.in(b, func(t *talk) {
				var firsts []time.Duration
				for range 10 {
					each, _ := t.answer(b, 5, 200)
					firsts = append(firsts, each[0])
				}
				each, _ := t.answer(b, 400, 200)
				*first, *p50 = append(*first, median(firsts)), append(*p50, median(each))
			})
		}
		alternate(func(int) { measure(editor, &ours.first, &ours.p50) }, func(int) { measure(bare, &theirs.first, &theirs.p50) })
		first, p50 := median(differences(ours.first, theirs.first)), median(differences(ours.p50, theirs.p50))
		report.add("added latency of the first chunk at an editor (portal acp)", ms(first), "1 ms", ms(median(theirs.first))+": from the model to the SDK's subscriber")
		report.add("added latency of a chunk at an editor, p50 (200 chunks/s, frames of 16 ms)", ms(p50), "", ms(median(theirs.p50)))
		b.ReportMetric(float64(first.Microseconds()), "µs-first")
		b.ReportMetric(float64(p50.Microseconds()), "µs-p50")
	})
}
