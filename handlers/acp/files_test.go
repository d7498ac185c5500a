package acp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/acp"
)

// withFiles are the capabilities of an editor whose files agents may read and write.
var withFiles = document{"fs": document{"readTextFile": true, "writeTextFile": true}}

// readsAndWrites is an agent that says the text of the file that a prompt names, and replaces it.
func readsAndWrites(t *fake.Turn) {
	if t.Opening.Buffer == nil {
		t.Say("no buffer")
		return
	}
	b, ok := t.Opening.Buffer(context.Background(), t.Prompt)
	switch {
	case !ok:
		t.Say("no buffer")
	case b.Write == nil:
		t.Say("read only: " + b.Text)
	case b.Write(context.Background(), b.Text+" and the agent's") != nil:
		t.Say("not written: " + b.Text)
	default:
		t.Say("replaced: " + b.Text)
	}
}

// has makes the editor have a file open. It answers requests for others with an error.
func (e *editor) has(path, text string) {
	files := map[string]any{path: text}
	e.answer = func(_ context.Context, method string, params document) (any, error) {
		name, _ := params["path"].(string)
		if files[name] == nil {
			return nil, errors.New("no such file")
		}
		if method == "fs/write_text_file" {
			files[name] = params["content"]
			return document{}, nil
		}
		return document{"content": files[name]}, nil
	}
}

func TestAgentUsesTheFilesOfTheEditor(t *testing.T) {
	serve(t, readsAndWrites, func(t *fixture) {
		e := t.connect(withFiles, acp.Client{})
		e.has("/a.txt", "unsaved")
		session := e.start()
		e.prompt(session, "/a.txt")
		assert.Equal(t, "replaced: unsaved", e.text("agent_message_chunk"))
		e.prompt(session, "/a.txt")
		assert.Contains(t, e.text("agent_message_chunk"), "replaced: unsaved and the agent's")
		assert.Equal(t, []document{
			{"sessionId": session, "path": "/a.txt"}, {"sessionId": session, "path": "/a.txt", "content": "unsaved and the agent's"},
		}, e.asked[:2])
		e.prompt(session, "/b.txt")
		assert.Contains(t, e.text("agent_message_chunk"), "no buffer")
		e.leave()
	})
}

func TestOnlyDeclaredMethodsOfFilesAreCalled(t *testing.T) {
	for name, tc := range map[string]struct {
		files document
		want  string
	}{
		"neither":    {document{}, "no buffer"},
		"only read":  {document{"readTextFile": true}, "read only: unsaved"},
		"only write": {document{"writeTextFile": true}, "no buffer"},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, readsAndWrites, func(t *fixture) {
				e := t.connect(document{"fs": tc.files}, acp.Client{})
				e.has("/a.txt", "unsaved")
				e.prompt(e.start(), "/a.txt")
				assert.Equal(t, tc.want, e.text("agent_message_chunk"))
				e.leave()
			})
		})
	}
}

func TestEditorThatHangsOrHasGoneHasNoFiles(t *testing.T) {
	serve(t, readsAndWrites, func(t *fixture) {
		hanging, other := t.connect(withFiles, acp.Client{}), t.connect(nil, acp.Client{})
		hanging.answer = func(ctx context.Context, _ string, _ document) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		session := hanging.start()
		other.call("session/load", document{"sessionId": session, "cwd": "/", "mcpServers": []any{}})
		began := time.Now()
		other.prompt(session, "/a.txt")
		assert.Less(t, time.Since(began), 11*time.Second)
		assert.Equal(t, "no buffer", other.text("agent_message_chunk"))
		hanging.leave()
		began = time.Now()
		other.prompt(session, "/a.txt")
		assert.Less(t, time.Since(began), time.Second)
		assert.Len(t, hanging.asked, 1)
		other.leave()
	})
}
