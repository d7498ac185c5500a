package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git/gittest"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestChangesAreCommittedAndProposedInBothDialects(t *testing.T) {
	t.Parallel()
	p, hub := portaltest.StartWithGitHub(t, portaltest.Options{})
	dir := t.TempDir()
	hub.Clone(t, dir, map[string]string{"kept.txt": "1\n", "person.txt": "1\n"})
	gittest.Write(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\ntouch "+hub.Home+"/hooked\nexit 1\n")

	ui, _ := overUI(t, p)
	rpc := overRPC(t, p)
	ui.must("initialize", map[string]any{"protocol_version": "0", "ui_capabilities": map[string]any{"supports_deltas": true}})
	session := p.StartSession(dir, "permissions=allow")
	nothing := rpc.must("commit.propose", map[string]any{"sessionId": session})
	assert.Equal(t, false, nothing["available"])
	p.Run(session, "write `new file.txt` `hello` edit `kept.txt` `1` `one` and say message `Greet the world`")
	p.Run(session, "write `other.txt` `other`")
	rpc.must("session.changes", map[string]any{"sessionId": session}) // waits for the checkpoint of the end
	gittest.Write(t, dir, "person.txt", "staged\n")
	gittest.Run(t, dir, "add", "person.txt")
	gittest.Write(t, dir, "person.txt", "unstaged\n")

	proposal := rpc.must("commit.propose", map[string]any{"sessionId": session, "ask": true})
	assert.Equal(t, []any{true, "main", "Ada <ada@example.com>", "Greet the world", true}, []any{proposal["available"], proposal["branch"], proposal["author"], proposal["message"], proposal["byModel"]})
	assert.Equal(t, []any{"kept.txt", "new file.txt", "other.txt"}, column(proposal["files"], "path"))
	assert.InDelta(t, 1, proposal["otherStaged"], 0)
	assert.Equal(t, []any{"pre-commit"}, proposal["skippedHooks"])
	byPrompt := ui.must("portal.commit.propose", map[string]any{"session_id": session})
	assert.Equal(t, []any{"write `other.txt` `other`", false}, []any{byPrompt["message"], byPrompt["by_model"]})

	done := rpc.must("commit.create", map[string]any{"sessionId": session, "paths": []string{"kept.txt", "new file.txt"}, "message": "Greet the world\n\nTwice.\n"})
	assert.Equal(t, done["commit"], gittest.Run(t, dir, "rev-parse", "main"))
	assert.Equal(t, "Greet the world\n\nTwice.", gittest.Run(t, dir, "show", "-s", "--format=%B"))
	assert.Equal(t, "kept.txt\nnew file.txt", gittest.Run(t, dir, "show", "--format=", "--name-only"))
	assert.Equal(t, "MM person.txt\n?? other.txt", gittest.Run(t, dir, "status", "--porcelain"))
	assert.Equal(t, "staged", gittest.Run(t, dir, "show", ":person.txt"))
	assert.NoFileExists(t, filepath.Join(hub.Home, "hooked"))
	_, message := rpc.call("commit.create", map[string]any{"sessionId": session, "paths": []string{"kept.txt"}, "message": "Again"})
	assert.Contains(t, message, "nothing was committed")
	_, message = ui.call("portal.commit.create", map[string]any{"session_id": session, "paths": []string{"../x", ".git/config"}, "message": "No"})
	assert.Contains(t, message, "outside of the work tree")

	pull := rpc.must("pullRequest.propose", map[string]any{"sessionId": session})
	assert.Contains(t, pull["reason"], "you are on main")
	gittest.Run(t, dir, "switch", "-q", "-c", "topic")
	pull = ui.must("portal.pull_request.propose", map[string]any{"session_id": session})
	assert.Equal(t, []any{"ada/engine", "topic", "Greet the world", "Twice."}, []any{pull["repository"], pull["branch"], pull["title"], pull["body"]})
	assert.Contains(t, pull["commands"].([]any)[0], "git push")
	_, message = rpc.call("pullRequest.create", map[string]any{"sessionId": session, "commands": []string{"git push"}, "title": "x"})
	assert.Contains(t, message, "look at the pull request again")
	_, message = rpc.call("commit.create", map[string]any{"sessionId": session, "paths": []string{"other.txt"}, "message": "x", "branch": "main"})
	assert.Contains(t, message, `the current branch is now "topic"`)
	gittest.Write(t, hub.Home, "fail", "no such <b>base</b>")
	_, message = rpc.call("pullRequest.create", map[string]any{"sessionId": session, "commands": pull["commands"], "title": "x"})
	assert.Contains(t, message, "gh: no such <b>base</b>")
	require.NoError(t, os.Remove(filepath.Join(hub.Home, "fail")))
	created := rpc.must("pullRequest.create", map[string]any{"sessionId": session, "commands": pull["commands"], "title": "Greet", "body": "the\nworld"})
	assert.Equal(t, "https://github.com/ada/engine/pull/7", created["url"])
	assert.Equal(t, gittest.Run(t, dir, "rev-parse", "topic"), gittest.Run(t, hub.Bare, "rev-parse", "refs/heads/topic"))
	assert.Contains(t, hub.Args(t), "<--title>\n<Greet>\n<--body-file>\n<->\nthe\nworld")
}
