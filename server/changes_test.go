package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// caller calls the methods of a dialect.
type caller struct {
	t    *testing.T
	call func(method string, params map[string]any) (result map[string]any, message string)
}

// must returns the result of a call that succeeds.
func (c caller) must(method string, params map[string]any) map[string]any {
	c.t.Helper()
	result, message := c.call(method, params)
	require.Empty(c.t, message, method)
	return result
}

// overUI returns the methods of /ui, and a function that waits for an event of a type.
func overUI(t *testing.T, p *portaltest.Portal) (c caller, await func(event string) map[string]any) {
	t.Helper()
	u := p.UI("")
	receive := func() map[string]any {
		line, err := u.Receive(time.Minute)
		require.NoError(t, err)
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		return m
	}
	var events []map[string]any
	note := func(m map[string]any) {
		if params, ok := m["params"].(map[string]any); ok && m["method"] == "agent.event" {
			events = append(events, params["event"].(map[string]any))
		}
	}
	id := 0
	c = caller{t, func(method string, params map[string]any) (map[string]any, string) {
		id++
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		require.NoError(t, err)
		u.Send(string(line))
		for {
			m := receive()
			if n, ok := m["id"].(float64); !ok || int(n) != id {
				note(m)
				continue
			}
			if e, failed := m["error"].(map[string]any); failed {
				return nil, e["message"].(string)
			}
			return m["result"].(map[string]any), ""
		}
	}}
	return c, func(event string) map[string]any {
		for {
			for i, e := range events {
				if e["type"] == event {
					events = events[i+1:]
					return e
				}
			}
			note(receive())
		}
	}
}

// overRPC returns the methods of /rpc.
func overRPC(t *testing.T, p *portaltest.Portal) caller {
	t.Helper()
	return caller{t, func(method string, params map[string]any) (map[string]any, string) {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		require.NoError(t, err)
		status, answer := p.Do("POST", "/rpc", string(body), "Content-Type", "application/json")
		require.Equal(t, http.StatusOK, status)
		var m struct {
			Result map[string]any
			Error  *struct{ Data string }
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
		if m.Error != nil {
			return nil, m.Error.Data
		}
		return m.Result, ""
	}}
}

// column returns a member of each object of a list.
func column(list any, member string) (values []any) {
	for _, item := range list.([]any) {
		values = append(values, item.(map[string]any)[member])
	}
	return values
}

// TestChangesAreSeenAndTakenBackInBothDialects lets the agent write files while a person edits others.
func TestChangesAreSeenAndTakenBackInBothDialects(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(file(name), []byte(text), 0o600)) }
	read := func(name string) string {
		data, err := os.ReadFile(file(name))
		require.NoError(t, err)
		return string(data)
	}
	write("kept.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")

	ui, await := overUI(t, p)
	rpc := overRPC(t, p)
	ui.must("initialize", map[string]any{"protocol_version": "0", "ui_capabilities": map[string]any{"supports_deltas": true}})
	session := p.StartSession(dir, "permissions=allow")
	ui.must("portal.session.attach", map[string]any{"session_id": session})
	p.Run(session, "write `new.txt` `hello\n` edit `kept.txt` `2` `two`")
	rpc.must("session.changes", map[string]any{"sessionId": session}) // waits for the checkpoint of the end
	write("kept.txt", "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n")             // the person
	write("mine.txt", "mine\n")
	p.Run(session, "run `printf 'from a command' > command.txt; rm new.txt`")

	changes := ui.must("portal.session.changes", map[string]any{"session_id": session})
	assert.Equal(t, true, changes["available"])
	assert.Equal(t, []any{"command.txt", "kept.txt"}, column(changes["files"], "path"), "all runs together, without what the person did")
	runs := column(changes["runs"], "run_id")
	require.Len(t, runs, 2)
	first := rpc.must("session.changes", map[string]any{"sessionId": session, "messageId": runs[0]})
	assert.Equal(t, []any{"kept.txt", "new.txt"}, column(first["files"], "path"))
	assert.Equal(t, []any{"edited", "reverted"}, column(first["files"], "state"), "the second run removed the new file")
	diff := rpc.must("session.diff", map[string]any{"sessionId": session, "messageId": runs[0], "path": "kept.txt"})
	hunks := column(diff["hunks"], "id")
	require.Len(t, hunks, 1)

	rpc.must("session.revert", map[string]any{"sessionId": session, "messageId": runs[0], "path": "kept.txt", "hunk": hunks[0]})
	assert.Equal(t, "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", read("kept.txt"), "the person's line stays")
	reverted := await("files_restored")
	assert.Equal(t, []any{"revert", "rpc", []any{"kept.txt"}}, []any{reverted["kind"], reverted["by"], reverted["paths"]})
	write("kept.txt", "1\ndeux\n3\n4\n5\n6\n7\n8\nnine\n")
	_, message := ui.call("portal.session.undo", map[string]any{"session_id": session})
	assert.Contains(t, message, `"kept.txt"`, "the person changed the same line")
	write("kept.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	ui.must("portal.session.undo", map[string]any{"session_id": session})
	assert.Equal(t, "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n", read("kept.txt"))

	before := map[string]string{"kept.txt": read("kept.txt"), "mine.txt": read("mine.txt"), "command.txt": read("command.txt")}
	restored := ui.must("portal.session.restore", map[string]any{"session_id": session, "run_id": runs[0], "conversation": "fork"})
	assert.Equal(t, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", read("kept.txt"))
	assert.NoFileExists(t, file("mine.txt"))
	assert.NotEmpty(t, restored["session_id"])
	undone := rpc.must("session.undo", map[string]any{"sessionId": session, "id": restored["id"]})
	assert.Len(t, undone["files"], 3)
	for name, text := range before {
		assert.Equal(t, text, read(name))
	}
	ui.must("portal.session.revert", map[string]any{"session_id": session, "run_id": runs[1]})
	assert.Equal(t, "hello\n", read("new.txt"))
	assert.NoFileExists(t, file("command.txt"))

	p = p.Restart()
	rpc = overRPC(t, p)
	again := rpc.must("session.changes", map[string]any{"sessionId": session})
	assert.Equal(t, runs, column(again["runs"], "messageId"))
	assert.NotNil(t, again["undo"])
}

func TestKilledRestoreIsCompletedAndRecorded(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	dir := t.TempDir()
	session := p.StartSession(dir, "permissions=allow")
	p.Run(session, "run `for i in $(seq 800); do echo $i > f$i; done`")
	rpc := overRPC(t, p)
	run := column(rpc.must("session.changes", map[string]any{"sessionId": session})["runs"], "messageId")[0]
	plan := func() []string {
		found, err := filepath.Glob(filepath.Join(p.DataDir(), "checkpoints", "*", "plan.json"))
		require.NoError(t, err)
		return found
	}
	records := func() int {
		_, events := p.Do("GET", "/api/copilot/session/"+session+"/export?format=jsonl", "")
		return strings.Count(events, `"type":"files.restored"`)
	}
	before := 0
	for tries := 1; ; tries++ {
		require.Less(t, tries, 20, "no restore is interrupted")
		before = records()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session.restore","params":{"sessionId":%q,"messageId":%q}}`, session, run)
			_, _, _ = p.Try("POST", "/rpc", body, "Content-Type", "application/json") // the portal is killed
		}()
		found := false
		for isOver := false; !isOver && !found; found = len(plan()) > 0 {
			select {
			case <-answered:
				isOver = true
			case <-time.After(time.Millisecond):
			}
		}
		if found {
			<-time.After(rand.N(25 * time.Millisecond)) // at a random moment
			p.Kill()
			<-answered
			if len(plan()) > 0 {
				break
			}
			p = p.Restart()
			rpc = overRPC(t, p)
		}
		rpc.must("session.undo", map[string]any{"sessionId": session}) // the restore ended before this test saw it begin, or before the kill
	}
	left, err := filepath.Glob(filepath.Join(dir, "f*"))
	require.NoError(t, err)
	t.Logf("%d of 800 files were left", len(left))

	p = p.Restart()
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		return err == nil && len(left) == 0 && len(plan()) == 0
	}, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { return records() > before }, time.Minute, 100*time.Millisecond)
	rpc = overRPC(t, p)
	undone := rpc.must("session.undo", map[string]any{"sessionId": session})
	assert.InDelta(t, 800, undone["count"], 0)
	left, err = filepath.Glob(filepath.Join(dir, "f*"))
	require.NoError(t, err)
	assert.Len(t, left, 800)
}
