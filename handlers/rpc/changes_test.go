package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/rpc"
)

func TestChangesValidateParams(t *testing.T) {
	inTimeWith(t, copilot.Options{}, rpc.Options{}, func(a *api) {
		id := a.create(document{})
		for _, test := range []struct {
			method string
			params document
			code   int
		}{
			{"session.changes", document{}, -32602},
			{"session.changes", document{"sessionId": "none"}, -32000},
			{"session.diff", document{"sessionId": id}, -32602},
			{"session.diff", document{"sessionId": id, "path": "x"}, -32002},
			{"session.revert", document{"sessionId": id, "hunk": "x"}, -32602},
			{"session.restore", document{"sessionId": id}, -32602},
			{"session.restore", document{"sessionId": id, "messageId": "x", "conversation": "drop"}, -32602},
			{"session.undo", document{"sessionId": "none"}, -32000},
			{"file.read", document{"sessionId": "none", "path": "x"}, -32000},
			{"file.read", document{"sessionId": id}, -32602},
			{"file.read", document{"sessionId": id, "path": "../x"}, -32602},
			{"file.read", document{"sessionId": id, "path": "gone"}, -32602},
			{"commit.propose", document{"sessionId": "none"}, -32000},
			{"commit.create", document{"sessionId": id, "message": "x"}, -32602},
			{"commit.create", document{"sessionId": id, "paths": []string{"a"}, "message": " \n"}, -32602},
			{"commit.create", document{"sessionId": id, "paths": []string{"a"}, "message": "a\x00b"}, -32602},
			{"pullRequest.propose", document{"sessionId": "none"}, -32000},
			{"pullRequest.create", document{"sessionId": id}, -32602},
			{"pullRequest.create", document{"sessionId": id, "title": "two\nlines"}, -32602},
		} {
			code, _ := a.refused(test.method, test.params)
			assert.Equal(a, test.code, code, "%s %v", test.method, test.params)
		}
		assert.Equal(a, false, a.must("session.changes", document{"sessionId": id})["available"], "there are no checkpoints")
	})
}
